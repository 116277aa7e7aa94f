-- Campaign $1 leaves the clusters that are not in $2.
DELETE FROM campaign_clusters WHERE campaign_id = $1 AND NOT cluster_id = ANY ($2::int[]);
