-- Who the owner of campaign $1 is on cluster $2; his own name when the campaign names it no more.
SELECT coalesce(cc.cluster_login, c.grid_user)
FROM campaigns AS c
LEFT JOIN campaign_clusters AS cc ON cc.campaign_id = c.id AND cc.cluster_id = $2
WHERE c.id = $1
