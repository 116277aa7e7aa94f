-- name: CampaignForecast
-- returns: rate double?, average_s double?, stddev_s double?, p50_s double?, p90_s double?,
-- returns: p99_s double?, end_low double?, end_high double?, at double
-- What the predictor says of campaign $1 as a whole.
SELECT rate, average_s, stddev_s, p50_s, p90_s, p99_s, extract(epoch FROM end_low) AS end_low,
       extract(epoch FROM end_high) AS end_high, extract(epoch FROM at) AS at
FROM forecasts WHERE campaign_id = $1 AND cluster_id = 0;

-- name: DropOldForecasts
-- At most $1 rows of more than a year.
DELETE FROM forecasts_history WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM forecasts_history WHERE at < now() - interval '1 year' LIMIT $1));

-- name: EndEstimate
-- returns: rate double?, low double?, high double?
-- plan: generic
-- Seconds from now until campaign $1 ends, as an interval, and its ends per second.
SELECT rate, greatest(0, extract(epoch FROM end_low - now())) AS low,
    greatest(0, extract(epoch FROM end_high - now())) AS high
FROM forecasts
WHERE campaign_id = $1 AND cluster_id = 0;

-- name: ForecastAccuracy
-- returns: held int64, judged int64
-- How good expected ends are: of the last 100 campaigns that ended, those that had an interval
-- halfway from their submission, and those of them that ended within it.
SELECT count(*) FILTER (WHERE c.completion_time BETWEEN f.end_low AND f.end_high) AS held,
    count(*) AS judged
FROM (
    SELECT id, completion_time, submission_time + (completion_time - submission_time) / 2 AS halfway
    FROM campaigns WHERE state = 'terminated' AND completion_time IS NOT NULL
    ORDER BY completion_time DESC LIMIT 100
) AS c
CROSS JOIN LATERAL (
    SELECT end_low, end_high FROM forecasts_history AS h
    WHERE h.campaign_id = c.id AND h.cluster_id = 0 AND h.at <= c.halfway
    ORDER BY h.at DESC LIMIT 1
) AS f
WHERE f.end_low IS NOT NULL AND f.end_high IS NOT NULL;

-- name: PlacementsToForecast
-- returns: campaign_id int64, cluster_id int64, slots int, rule text, queue_s double,
-- returns: resolution_s double, max_waiting int, polls int64, max_resources int,
-- returns: free_resources int, submitted int64, waiting int64, running int64, ended int64,
-- returns: mean_age_s double, n_ok int64, sum_s double, sum_sq double, hist int64[],
-- returns: job_ratio double?, rate double?, jobs int64, job_cost_s double?, groups bool,
-- returns: tasks_per_job text?, walltime_s int, auto_walltime bool, grace_s int,
-- returns: lifetime_s double?
-- Every campaign at work on each of its clusters: what is known, what was predicted last, and
-- the number of polls of the cluster so far. The queue has to last until the poll after the next
-- one. lifetime_s: the mean time until a cluster kills a job of ours for its own users.
-- groups: where the grid can read what jobs write while they run.
WITH survival AS MATERIALIZED (
    SELECT cluster_id, lifetime_s FROM cluster_lifetimes
)
SELECT cc.campaign_id, cc.cluster_id, cc.slots, k.job_ratio AS rule,
    k.queue_s + coalesce(k.min_cycle_s, CASE WHEN k.change_feed THEN 0 ELSE 5 END) AS queue_s,
    k.time_resolution_s AS resolution_s, coalesce(k.max_waiting, 2000) AS max_waiting,
    coalesce(s.polls, 0) AS polls, coalesce(s.max_resources, 0) AS max_resources,
    coalesce(s.free_resources, 0) AS free_resources,
    coalesce(n.submitted, 0) AS submitted, coalesce(n.waiting, 0) AS waiting,
        coalesce(n.running, 0) AS running,
    coalesce(n.ended, 0) AS ended, coalesce(n.mean_age_s, 0) AS mean_age_s,
    coalesce(l.n_ok, 0) AS n_ok, coalesce(l.sum_s, 0) AS sum_s, coalesce(l.sum_sq, 0) AS sum_sq,
        l.hist::bigint[] AS hist,
    f.job_ratio, f.rate, coalesce(l.jobs, 0) AS jobs, f.job_cost_s,
    k.groups AND coalesce(k.options ->> 'records', 'true') = 'true'
        AND (k.gives_files OR coalesce(k.options ->> 'shared_folder', '') <> '') AS groups,
    coalesce(CASE WHEN cc.options ?| ARRAY['checkpoint', 'inputs', 'outputs'] THEN '1' END,
        cc.options ->> 'temporal_grouping') AS tasks_per_job, cc.walltime_s,
    coalesce(cc.options -> 'auto_walltime' = 'true', false) AS auto_walltime,
    coalesce((cc.options #>> '{checkpoint,grace}')::int, 0) AS grace_s, v.lifetime_s
FROM campaigns AS c
JOIN campaign_clusters AS cc ON cc.campaign_id = c.id AND cc.left_at IS NULL
JOIN clusters AS k ON k.id = cc.cluster_id
JOIN cluster_now AS s ON s.cluster_id = cc.cluster_id
LEFT JOIN LATERAL (
    SELECT sum(m.n - m.riders) FILTER (WHERE m.state = 'submitted')::bigint AS submitted,
        sum(m.n - m.riders) FILTER (WHERE m.state = 'remote_waiting')::bigint AS waiting,
        sum(m.n - m.riders) FILTER (WHERE m.state = 'running')::bigint AS running,
        sum(m.n) FILTER (WHERE m.state IN ('terminated', 'duplicate', 'event'))::bigint AS ended,
        extract(epoch FROM now()) - sum(m.sum_start) FILTER (WHERE m.state = 'running')
            / nullif(sum(m.slots) FILTER (WHERE m.state = 'running'), 0) AS mean_age_s
    FROM counters AS m
    WHERE m.campaign_id = cc.campaign_id AND m.cluster_id = cc.cluster_id
        AND m.kind IN ('task', 'replica', 'test')
) AS n ON true
LEFT JOIN placements AS l ON l.campaign_id = cc.campaign_id AND l.cluster_id = cc.cluster_id
LEFT JOIN forecasts AS f ON f.campaign_id = cc.campaign_id AND f.cluster_id = cc.cluster_id
LEFT JOIN survival AS v ON v.cluster_id = cc.cluster_id
WHERE c.state IN ('in_treatment', 'paused')
ORDER BY cc.campaign_id, cc.cluster_id;

-- name: PutForecasts
-- Writes the forecasts of these campaigns ($1) and clusters ($2; 0: the campaign as a whole),
-- and of those marked in $19 a row of history (CIG-47).
WITH new AS (
    SELECT v.campaign_id, v.cluster_id, now() AS at, v.job_ratio, v.poll, v.nsub, v.free,
        v.running, v.waiting, v.rate,
        v.average_s, v.stddev_s, v.p50_s, v.p90_s, v.p99_s, v.waiting_allowed,
        now() + v.low_s * interval '1 second' AS end_low,
            now() + v.high_s * interval '1 second' AS end_high, v.overdue_s, v.keep,
        v.tasks_per_job, v.job_cost_s, v.walltime_s
    FROM unnest($1::bigint[], $2::int[], $3::float8[], $4::bigint[], $5::int[], $6::int[],
        $7::int[], $8::int[], $9::float8[], $10::float8[], $11::float8[], $12::float8[],
        $13::float8[], $14::float8[], $15::int[],
        $16::float8[], $17::float8[], $18::float8[], $19::boolean[], $20::int[],
        $21::float8[], $22::int[])
        AS v (campaign_id, cluster_id, job_ratio, poll, nsub, free, running, waiting, rate,
            average_s, stddev_s, p50_s, p90_s, p99_s, waiting_allowed, low_s, high_s, overdue_s,
            keep, tasks_per_job, job_cost_s, walltime_s)
), kept AS (
    INSERT INTO forecasts_history (campaign_id, cluster_id, at, job_ratio, poll, nsub, free,
        running, waiting, rate,
        average_s, stddev_s, p50_s, p90_s, p99_s, waiting_allowed, end_low, end_high, overdue_s)
    SELECT campaign_id, cluster_id, at, job_ratio, poll, nsub, free, running, waiting, rate,
        average_s, stddev_s, p50_s,
        p90_s, p99_s, waiting_allowed, end_low, end_high, overdue_s
    FROM new WHERE keep
)
INSERT INTO forecasts AS f (campaign_id, cluster_id, at, job_ratio, poll, nsub, free, running,
    waiting, rate,
    average_s, stddev_s, p50_s, p90_s, p99_s, waiting_allowed, end_low, end_high, overdue_s,
    tasks_per_job, job_cost_s, walltime_s)
SELECT campaign_id, cluster_id, at, job_ratio, poll, nsub, free, running, waiting, rate, average_s,
    stddev_s, p50_s,
    p90_s, p99_s, waiting_allowed, end_low, end_high, overdue_s, tasks_per_job, job_cost_s,
    walltime_s
FROM new
ON CONFLICT (campaign_id, cluster_id) DO UPDATE SET at = excluded.at,
    job_ratio = excluded.job_ratio,
    poll = excluded.poll, nsub = excluded.nsub, free = excluded.free, running = excluded.running,
    waiting = excluded.waiting, rate = excluded.rate, average_s = excluded.average_s,
        stddev_s = excluded.stddev_s,
    p50_s = excluded.p50_s, p90_s = excluded.p90_s, p99_s = excluded.p99_s,
    waiting_allowed = excluded.waiting_allowed, end_low = excluded.end_low,
        end_high = excluded.end_high, overdue_s = excluded.overdue_s,
    tasks_per_job = excluded.tasks_per_job, job_cost_s = excluded.job_cost_s,
    walltime_s = excluded.walltime_s;

-- name: ThinForecasts
-- Thins the history as ThinGridstatus does, by campaign and cluster.
WITH ranked AS (
    SELECT ctid, row_number() OVER (PARTITION BY campaign_id, cluster_id, date_trunc(
        CASE WHEN at < now() - interval '1 day' THEN 'hour' ELSE 'minute' END, at) ORDER BY at) AS k
    FROM forecasts_history
    WHERE at < now() - interval '1 hour'
            AND at >= date_trunc('minute', now() - interval '1 hour' - $1 * interval '1 second')
        OR at < now() - interval '1 day'
            AND at >= date_trunc('hour', now() - interval '1 day' - $1 * interval '1 second')
)
DELETE FROM forecasts_history WHERE ctid = ANY (ARRAY(SELECT ctid FROM ranked WHERE k > 1));
