-- What holds and held campaign $1, last first; $2 rows after the first $3.
SELECT r.cluster_id, c.name AS cluster, r.code, r.numbers, extract(epoch FROM r.since) AS since,
       extract(epoch FROM r.until) AS until, count(*) OVER () AS total
FROM reasons AS r LEFT JOIN clusters AS c ON c.id = r.cluster_id
WHERE r.campaign_id = $1
ORDER BY r.since DESC, r.cluster_id, r.code LIMIT $2 OFFSET $3;
