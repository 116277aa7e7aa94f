-- name: EndedSince
-- returns: cluster text, ok int64, program int64, infrastructure int64, preempted int64,
-- returns: killed int64, used double, lost double
-- What ended jobs have used since $1 and before $2 (epoch s), by cluster. `usage` has a row for
-- each minute of a placement, and the interval is some minutes.
SELECT c.name AS cluster, sum(u.ok)::bigint AS ok, sum(u.program)::bigint AS program,
    sum(u.infrastructure)::bigint AS infrastructure, sum(u.preempted)::bigint AS preempted,
    sum(u.killed)::bigint AS killed, sum(u.slot_s) AS used, sum(u.lost_s) AS lost
FROM usage AS u JOIN clusters AS c ON c.id = u.cluster_id
WHERE u.bucket >= to_timestamp($1) AND u.bucket < to_timestamp($2)
GROUP BY c.name;

-- name: Metrics
-- returns: metric text, one text, two text, value double
-- The present numbers of the grid, each with the values of its labels (src/api/monitor/metrics.cc
-- has their names). Nothing here counts rows of jobs.
WITH in_flight AS (
    SELECT k.cluster_id, k.state, sum(k.n) AS n
    FROM jobs_in_flight AS k JOIN campaigns AS c ON c.id = k.campaign_id
    WHERE c.completion_time IS NULL
    GROUP BY 1, 2
), waiting AS (
    SELECT sum(u.waiting) AS n,
        max(extract(epoch FROM now() - c.submission_time)) FILTER (WHERE u.waiting > 0)
            AS oldest_s
    FROM campaigns AS c JOIN campaign_cursor AS u ON u.campaign_id = c.id
    WHERE c.state = 'in_treatment'
)
SELECT 'cigri_cluster_slots' AS metric, c.name AS one, s.state AS two, s.n::float8 AS value
FROM clusters AS c JOIN cluster_now AS w ON w.cluster_id = c.id
CROSS JOIN LATERAL (VALUES ('free', w.free_resources), ('grid', w.used_by_cigri),
    ('local', w.used_resources - w.used_by_cigri), ('unavailable', w.unavailable_resources))
    AS s (state, n)
WHERE w.seen_at IS NOT NULL
UNION ALL
SELECT 'cigri_cluster_jobs', c.name, s.state, coalesce(f.n, 0)
FROM clusters AS c
CROSS JOIN (VALUES ('launching'), ('submitted'), ('remote_waiting'), ('running')) AS s (state)
LEFT JOIN in_flight AS f ON f.cluster_id = c.id AND f.state = s.state
UNION ALL
SELECT 'cigri_cluster_status_age_seconds', c.name, '',
    extract(epoch FROM now() - coalesce(s.polled_at, c.created_at))
FROM clusters AS c LEFT JOIN cluster_status AS s ON s.cluster_id = c.id
WHERE c.enabled
UNION ALL
SELECT 'cigri_cluster_up', c.name, '', (s.answered_at IS NOT NULL AND s.failing_since IS NULL)::int
FROM clusters AS c LEFT JOIN cluster_status AS s ON s.cluster_id = c.id
WHERE c.enabled
UNION ALL
SELECT 'cigri_cluster_served', c.name, '', (r.id IS NOT NULL)::int
FROM clusters AS c LEFT JOIN cluster_leases AS l ON l.cluster_id = c.id
LEFT JOIN living_runners AS r ON r.id = l.runner_id
WHERE c.enabled
UNION ALL
SELECT 'cigri_runners', '', '', count(*) FROM living_runners
UNION ALL
SELECT 'cigri_cluster_drained', name, '', drained::int FROM clusters
UNION ALL
SELECT 'cigri_campaigns', s.state, '', count(c.id)
FROM (VALUES ('in_treatment'), ('paused')) AS s (state)
LEFT JOIN campaigns AS c ON c.state::text = s.state AND c.state IN ('in_treatment', 'paused')
GROUP BY s.state
UNION ALL
SELECT 'cigri_tasks_waiting', '', '', coalesce(n, 0) FROM waiting
UNION ALL
SELECT 'cigri_tasks_oldest_unsent_age_seconds', '', '', coalesce(oldest_s, 0) FROM waiting
UNION ALL
SELECT 'cigri_campaigns_submitted_total', '', '', coalesce(pg_sequence_last_value(
    pg_get_serial_sequence('campaigns', 'id')::regclass), 0)
UNION ALL
SELECT CASE name WHEN 'job' THEN 'cigri_jobs_claimed_total' ELSE 'cigri_tasks_submitted_total' END,
    '', '', next - 1
FROM id_blocks WHERE name IN ('job', 'task')
UNION ALL
SELECT 'cigri_events_open', class, '', count(*) FROM events WHERE state = 'open' GROUP BY class
UNION ALL
SELECT 'cigri_module_pass_duration_seconds', name, '', last_pass_ms / 1000
FROM modules WHERE last_pass_ms IS NOT NULL
UNION ALL
SELECT 'cigri_module_passes_total', name, '', passes FROM modules
UNION ALL
SELECT 'cigri_module_last_pass_age_seconds', name, '', extract(epoch FROM now() - last_pass_at)
FROM modules WHERE last_pass_at IS NOT NULL
UNION ALL
SELECT 'cigri_cycle_duration_seconds', '', '', sum(last_pass_ms) / 1000
FROM modules WHERE name IN ('updator', 'predictor', 'metascheduler')
HAVING sum(last_pass_ms) IS NOT NULL
UNION ALL
SELECT 'cigri_leader_lease_seconds', '', '', greatest(extract(epoch FROM ends_at - now()), 0)
FROM leader_lease WHERE isfinite(ends_at)
UNION ALL
SELECT 'cigri_database_replication_lag_seconds', '', '', max(extract(epoch FROM replay_lag))
FROM pg_stat_replication HAVING max(replay_lag) IS NOT NULL;

-- name: Readiness
-- returns: led bool, stuck text[]
-- Whether an almighty leads, and the modules without a pass for $1 seconds, or since their end; the
-- runner when none has lived for as long.
SELECT ends_at > now() AS led, ARRAY(
    SELECT 'runner: none runs on any host' FROM grid
    WHERE leading_since < now() - $1 * interval '1 second'
        AND NOT EXISTS (SELECT FROM runners WHERE ends_at > now() - $1 * interval '1 second')
) || ARRAY(
    SELECT name || coalesce(': does not run: ' || e.why,
        ': no pass for ' || round(extract(epoch FROM now() - m.last_pass_at)) || ' s')
    FROM modules AS m FULL JOIN ended_modules AS e USING (name)
    WHERE e.why IS NOT NULL
        OR coalesce(m.last_pass_at, m.started_at) < now() - $1 * interval '1 second'
    ORDER BY name) AS stuck
FROM leader_lease;
