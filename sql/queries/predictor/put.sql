-- The present predictions of these campaigns ($1) and clusters ($2; 0: the campaign as a whole), and
-- of those marked in $17 a row of history (CIG-47).
WITH new AS (
    SELECT v.campaign_id, v.cluster_id, now() AS at, v.job_ratio, v.sweep, v.nsub, v.free, v.running, v.waiting, v.rate,
        v.average_s, v.stddev_s, v.p50_s, v.p90_s, v.p99_s, v.waiting_allowed,
        now() + v.low_s * interval '1 second' AS end_low, now() + v.high_s * interval '1 second' AS end_high, v.overdue_s, v.keep
    FROM unnest($1::bigint[], $2::int[], $3::float8[], $4::bigint[], $5::int[], $6::int[], $7::int[], $8::int[],
        $9::float8[], $10::float8[], $11::float8[], $12::float8[], $13::float8[], $14::float8[], $15::int[],
        $16::float8[], $18::float8[], $17::boolean[], $19::float8[])
        AS v (campaign_id, cluster_id, job_ratio, sweep, nsub, free, running, waiting, rate, average_s, stddev_s, p50_s,
            p90_s, p99_s, waiting_allowed, low_s, high_s, keep, overdue_s)
), kept AS (
    INSERT INTO forecasts_history (campaign_id, cluster_id, at, job_ratio, sweep, nsub, free, running, waiting, rate,
        average_s, stddev_s, p50_s, p90_s, p99_s, waiting_allowed, end_low, end_high, overdue_s)
    SELECT campaign_id, cluster_id, at, job_ratio, sweep, nsub, free, running, waiting, rate, average_s, stddev_s, p50_s,
        p90_s, p99_s, waiting_allowed, end_low, end_high, overdue_s
    FROM new WHERE keep
)
INSERT INTO forecasts AS f (campaign_id, cluster_id, at, job_ratio, sweep, nsub, free, running, waiting, rate,
    average_s, stddev_s, p50_s, p90_s, p99_s, waiting_allowed, end_low, end_high, overdue_s)
SELECT campaign_id, cluster_id, at, job_ratio, sweep, nsub, free, running, waiting, rate, average_s, stddev_s, p50_s,
    p90_s, p99_s, waiting_allowed, end_low, end_high, overdue_s
FROM new
ON CONFLICT (campaign_id, cluster_id) DO UPDATE SET at = excluded.at, job_ratio = excluded.job_ratio,
    sweep = excluded.sweep, nsub = excluded.nsub, free = excluded.free, running = excluded.running,
    waiting = excluded.waiting, rate = excluded.rate, average_s = excluded.average_s, stddev_s = excluded.stddev_s,
    p50_s = excluded.p50_s, p90_s = excluded.p90_s, p99_s = excluded.p99_s,
    waiting_allowed = excluded.waiting_allowed, end_low = excluded.end_low, end_high = excluded.end_high, overdue_s = excluded.overdue_s
