-- What holds campaign $1 now, the whole campaign (cluster 0) first.
SELECT r.cluster_id, c.name AS cluster, r.code, r.numbers, extract(epoch FROM now() - r.since) AS for_s,
       extract(epoch FROM r.since) AS since
FROM reasons AS r LEFT JOIN clusters AS c ON c.id = r.cluster_id
WHERE r.campaign_id = $1 AND r.until IS NULL
ORDER BY r.cluster_id, r.since;
