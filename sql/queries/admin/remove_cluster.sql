-- Only one that no campaign has ever named: history is kept.
DELETE FROM clusters AS c
WHERE name = $1 AND NOT EXISTS (SELECT FROM campaign_clusters WHERE cluster_id = c.id)
RETURNING id
