-- What holds campaigns back on cluster $1 now; at most $2.
SELECT r.campaign_id, r.cluster_id, c.name AS cluster, r.code, r.numbers, extract(epoch FROM r.since) AS since
FROM reasons AS r JOIN clusters AS c ON c.id = r.cluster_id
WHERE r.cluster_id = $1 AND r.until IS NULL ORDER BY r.campaign_id, r.since LIMIT $2;
