-- What campaign $1 fails of: first what holds it, then its open events of jobs, most first; at most $2.
-- Equal failures are one row, whatever the cluster: their newest event speaks for all. `tasks` of
-- them wait for their user.
WITH same AS (
    SELECT (array_agg(id ORDER BY date_update DESC, id DESC))[1] AS newest, sum(count)::bigint AS count,
        array_agg(id ORDER BY id) AS ids, max(date_update) AS last
    FROM events
    WHERE campaign_id = $1 AND state = 'open' AND class IN ('job', 'campaign', 'cluster')
    GROUP BY class, code, fingerprint, CASE WHEN class <> 'job' THEN id END
    ORDER BY class = 'job', count DESC, newest LIMIT $2
)
SELECT e.id, e.class, e.code, e.message, s.count, e.idx, e.job_id, cl.name AS cluster, e.sample,
    s.last AS date_update, array_to_json(s.ids) AS events, coalesce(c.names, '[]') AS clusters, t.n AS tasks
FROM same AS s
JOIN events AS e ON e.id = s.newest
LEFT JOIN clusters AS cl ON cl.id = e.cluster_id
CROSS JOIN LATERAL (
    SELECT json_agg(k.name ORDER BY k.name) AS names
    FROM clusters AS k WHERE k.id IN (SELECT cluster_id FROM events WHERE id = ANY (s.ids))
) AS c
CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (SELECT FROM tofix WHERE event_id = ANY (s.ids) LIMIT 100001) AS few
) AS t
ORDER BY e.class = 'job', s.count DESC, e.id;
