-- Campaigns that may be given something, and those that have jobs in flight ($1) whatever their state: these count
-- against quotas and licences, and want nothing. Of tasks that go again no more are counted than one decision gives.
-- A campaign waits since it was submitted; with no task but those that go again, since the first of them may.
SELECT c.id, c.grid_user, c.project, c.type = 'test' AS test, c.priority, coalesce(c.sla_group, '') AS sla_group,
    extract(epoch FROM c.submission_time) AS submitted_at,
    extract(epoch FROM CASE WHEN cur.next_idx < cur.ntasks THEN c.submission_time ELSE coalesce(r.since, c.submission_time) END)
        AS waiting_since,
    CASE WHEN c.state = 'in_treatment' AND c.wanted = 'in_treatment' AND c.finishing_since IS NULL
        THEN cur.ntasks - cur.next_idx + r.n ELSE 0 END AS waiting,
    coalesce(d.n, 0) AS done,
    c.max_replicas > 0 AND c.state = 'in_treatment' AND c.wanted = 'in_treatment' AS replicas,
    coalesce(f.p50_s, 0) AS need_s, coalesce(j.class, '') AS class, j.affinity_wait, j.min_duration, j.licences,
    CASE WHEN jsonb_typeof(j.after) = 'array' THEN (
        SELECT min(a.id) FROM jsonb_array_elements_text(j.after) AS x (id)
        JOIN campaigns AS a ON a.id = CASE WHEN x.id ~ '^[0-9]{1,18}$' THEN x.id::bigint END AND a.state IN ('in_treatment', 'paused')) END AS after
FROM campaigns AS c
JOIN campaign_cursor AS cur ON cur.campaign_id = c.id
CROSS JOIN LATERAL (
    SELECT count(*) AS n, min(due.not_before) AS since FROM (
        SELECT t.not_before FROM retry AS t WHERE t.campaign_id = c.id AND t.not_before <= now() LIMIT 100000) AS due
) AS r
LEFT JOIN LATERAL (
    SELECT sum(k.n) AS n FROM counters AS k WHERE k.campaign_id = c.id AND k.state = 'terminated'
) AS d ON true
LEFT JOIN forecasts AS f ON f.campaign_id = c.id AND f.cluster_id = 0
CROSS JOIN LATERAL jsonb_to_record(c.jdl)
    AS j (class text, affinity_wait text, min_duration text, licences text, after jsonb)
WHERE (c.state = 'in_treatment' AND c.wanted = 'in_treatment') OR c.id = ANY ($1::bigint[])
ORDER BY c.id
