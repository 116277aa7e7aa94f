-- Campaigns that we had stopped and that some cluster would take again.
UPDATE campaigns AS c
SET state = 'in_treatment', state_reason = NULL
WHERE c.state = 'paused' AND c.wanted = 'in_treatment' AND c.state_reason IS NOT NULL
    AND EXISTS (
        SELECT FROM campaign_clusters AS cc
        LEFT JOIN lanes AS l ON l.campaign_id = cc.campaign_id AND l.cluster_id = cc.cluster_id
        WHERE cc.campaign_id = c.id AND l.held_since IS NULL
            AND NOT EXISTS (SELECT FROM events AS e WHERE e.campaign_id = c.id AND e.cluster_id = cc.cluster_id
                AND e.state = 'open' AND e.code IN ('SUBMIT_REFUSED', 'TOKEN_MISSING', 'PROLOGUE_FAILED')))
RETURNING c.id
