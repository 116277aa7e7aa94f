-- Clusters of a test campaign that have not answered after $2 seconds.
SELECT cc.cluster_id, k.name
FROM campaigns AS c
JOIN campaign_clusters AS cc ON cc.campaign_id = c.id
JOIN clusters AS k ON k.id = cc.cluster_id
LEFT JOIN lanes AS l ON l.campaign_id = c.id AND l.cluster_id = cc.cluster_id
WHERE c.id = $1 AND c.submission_time < now() - $2 * interval '1 second' AND NOT coalesce(l.answered_test, false)
