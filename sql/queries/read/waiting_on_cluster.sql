-- Campaigns that wait and may run on cluster $1, each with what holds it back there (or altogether); at most $2.
SELECT c.id AS campaign_id, c.grid_user, c.priority, w.n AS waiting, coalesce(g.n, 0) AS granted,
       coalesce(k.n, 0) AS in_flight, r.cluster_id, cl.name AS cluster, r.code, r.numbers,
       extract(epoch FROM r.since) AS since, count(*) OVER () AS total
FROM campaign_clusters AS cc
JOIN campaigns AS c ON c.id = cc.campaign_id AND c.state = 'in_treatment' AND c.wanted = 'in_treatment'
JOIN campaign_cursor AS cur ON cur.campaign_id = c.id
CROSS JOIN LATERAL (
    SELECT cur.ntasks - cur.next_idx
           + (SELECT count(*) FROM (SELECT FROM retry WHERE campaign_id = c.id LIMIT 1000) AS few) AS n
) AS w
LEFT JOIN LATERAL (
    SELECT sum(n) AS n FROM grants WHERE campaign_id = c.id AND cluster_id = $1
) AS g ON true
LEFT JOIN LATERAL (
    SELECT sum(n) AS n FROM counters WHERE campaign_id = c.id AND cluster_id = $1
        AND state IN ('launching', 'submitted', 'remote_waiting', 'running')
) AS k ON true
LEFT JOIN LATERAL (
    SELECT * FROM reasons WHERE campaign_id = c.id AND cluster_id IN (0, $1) AND until IS NULL
    ORDER BY cluster_id, since LIMIT 1
) AS r ON true
LEFT JOIN clusters AS cl ON cl.id = r.cluster_id
WHERE cc.cluster_id = $1 AND w.n > 0
ORDER BY c.id LIMIT $2;
