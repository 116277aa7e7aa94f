-- What held campaign $1 before, last first; at most $2.
SELECT r.cluster_id, c.name AS cluster, r.code, r.numbers, extract(epoch FROM r.since) AS since,
       extract(epoch FROM r.until) AS until
FROM reasons AS r LEFT JOIN clusters AS c ON c.id = r.cluster_id
WHERE r.campaign_id = $1 AND r.until IS NOT NULL
ORDER BY r.since DESC LIMIT $2;
