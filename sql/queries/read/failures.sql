-- What campaign $1 fails of, most first: its open events of jobs, one row for equal failures, and what
-- holds it; at most $2. `tasks` of them wait for their user.
SELECT e.id, e.class, e.code, e.message, e.count, e.idx, e.job_id, cl.name AS cluster, e.sample,
       e.date_update, t.n AS tasks
FROM events AS e
LEFT JOIN clusters AS cl ON cl.id = e.cluster_id
CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (SELECT FROM tofix WHERE event_id = e.id LIMIT 100001) AS few
) AS t
WHERE e.campaign_id = $1 AND e.state = 'open' AND e.class IN ('job', 'campaign', 'cluster')
ORDER BY e.class = 'job', e.count DESC, e.id LIMIT $2;
