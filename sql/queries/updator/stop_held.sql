-- Campaigns that no cluster of theirs will take: held, refused, or their prologue failed there.
-- Clusters with the same reason are named together.
WITH lane AS (
    SELECT c.id, k.name, coalesce(l.held_why, e.message, CASE WHEN l.held_since IS NOT NULL THEN 'its prologue failed' END) AS why
    FROM campaigns AS c
    JOIN campaign_clusters AS cc ON cc.campaign_id = c.id
    JOIN clusters AS k ON k.id = cc.cluster_id
    LEFT JOIN lanes AS l ON l.campaign_id = c.id AND l.cluster_id = cc.cluster_id
    LEFT JOIN LATERAL (
        SELECT message FROM events WHERE campaign_id = c.id AND cluster_id = cc.cluster_id AND state = 'open'
            AND code IN ('SUBMIT_REFUSED', 'TOKEN_MISSING', 'PROLOGUE_FAILED') LIMIT 1
    ) AS e ON true
    WHERE c.state = 'in_treatment' AND c.wanted = 'in_treatment' AND c.finishing_since IS NULL
), reason AS (
    SELECT id, string_agg(name, ', ' ORDER BY name) || ': ' || why AS text
    FROM lane GROUP BY id, why
    HAVING bool_and(id NOT IN (SELECT id FROM lane WHERE why IS NULL))
), blocked AS (
    SELECT id, string_agg(text, '; ' ORDER BY text) AS why FROM reason GROUP BY id
)
UPDATE campaigns AS c
SET state = 'paused', state_reason = 'held everywhere: ' || blocked.why
FROM blocked
WHERE c.id = blocked.id
    AND NOT EXISTS (SELECT FROM counters AS n WHERE n.campaign_id = c.id
        AND n.state IN ('launching', 'submitted', 'remote_waiting', 'running') GROUP BY n.campaign_id HAVING sum(n.n) > 0)
RETURNING c.id, c.state_reason
