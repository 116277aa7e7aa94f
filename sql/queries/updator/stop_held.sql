-- Campaigns that no cluster of theirs will take: held, refused, or their prologue failed there.
WITH blocked AS (
    SELECT c.id, string_agg(k.name || ': ' || coalesce(l.held_why, e.message, 'its prologue failed'), '; ' ORDER BY k.name) AS why
    FROM campaigns AS c
    JOIN campaign_clusters AS cc ON cc.campaign_id = c.id
    JOIN clusters AS k ON k.id = cc.cluster_id
    LEFT JOIN lanes AS l ON l.campaign_id = c.id AND l.cluster_id = cc.cluster_id
    LEFT JOIN LATERAL (
        SELECT message FROM events WHERE campaign_id = c.id AND cluster_id = cc.cluster_id AND state = 'open'
            AND code IN ('SUBMIT_REFUSED', 'TOKEN_MISSING', 'PROLOGUE_FAILED') LIMIT 1
    ) AS e ON true
    WHERE c.state = 'in_treatment' AND c.wanted = 'in_treatment' AND c.finishing_since IS NULL
    GROUP BY c.id
    HAVING bool_and(l.held_since IS NOT NULL OR e.message IS NOT NULL)
)
UPDATE campaigns AS c
SET state = 'paused', state_reason = 'held everywhere: ' || blocked.why
FROM blocked
WHERE c.id = blocked.id
    AND NOT EXISTS (SELECT FROM counters AS n WHERE n.campaign_id = c.id
        AND n.state IN ('launching', 'submitted', 'remote_waiting', 'running') GROUP BY n.campaign_id HAVING sum(n.n) > 0)
RETURNING c.id, c.state_reason
