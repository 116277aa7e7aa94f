-- Campaigns that send nothing to cluster $1 for want of a token, who their user is there, and whether they
-- still want anything.
SELECT e.campaign_id, coalesce(cc.cluster_login, c.grid_user), c.state IN ('in_treatment', 'paused') AS alive
FROM events AS e
JOIN campaigns AS c ON c.id = e.campaign_id
LEFT JOIN campaign_clusters AS cc ON cc.campaign_id = c.id AND cc.cluster_id = $1
WHERE e.state = 'open' AND e.code = 'TOKEN_MISSING' AND e.cluster_id = $1
