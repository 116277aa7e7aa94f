-- How long jobs of these campaigns ($1) took, by cluster.
SELECT campaign_id, cluster_id, n_ok, sum_s, hist FROM lanes
WHERE n_ok > 0 AND campaign_id = ANY ($1::bigint[]) ORDER BY campaign_id, cluster_id
