-- Whether every cluster of campaign $1 is kept from it by an event that nobody has answered yet.
SELECT NOT EXISTS (
    SELECT FROM campaign_clusters AS cc
    LEFT JOIN lanes AS l ON l.campaign_id = cc.campaign_id AND l.cluster_id = cc.cluster_id
    WHERE cc.campaign_id = $1
        AND NOT EXISTS (SELECT FROM events AS e WHERE e.id = l.held_event AND e.state = 'open')
        AND NOT EXISTS (SELECT FROM events AS e WHERE e.campaign_id = cc.campaign_id AND e.cluster_id = cc.cluster_id
            AND e.state = 'open' AND e.code IN ('SUBMIT_REFUSED', 'PROLOGUE_FAILED')));
