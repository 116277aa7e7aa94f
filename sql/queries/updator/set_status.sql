-- How a cluster did in its last answer. Fresh looks are counted: what learns steps by them.
INSERT INTO cluster_status AS s (cluster_id, swept_at, answered_at, failing_since, failures, try_again_at, error,
    stress, calls_per_min, sweeps, feed_token, clock_skew_s)
VALUES ($1, CASE WHEN $2 THEN now() END, CASE WHEN $2 THEN now() END, CASE WHEN NOT $2 THEN now() END, $3,
    CASE WHEN NOT $2 THEN now() + $4 * interval '1 second' END, $5, $6, $7, CASE WHEN $2 THEN 1 ELSE 0 END, $8, $9)
ON CONFLICT (cluster_id) DO UPDATE SET
    swept_at = coalesce(excluded.swept_at, s.swept_at), answered_at = coalesce(excluded.answered_at, s.answered_at),
    failing_since = CASE WHEN $2 THEN NULL ELSE coalesce(s.failing_since, now()) END,
    failures = excluded.failures, try_again_at = excluded.try_again_at, error = excluded.error,
    stress = excluded.stress, calls_per_min = excluded.calls_per_min, sweeps = s.sweeps + excluded.sweeps,
    feed_token = coalesce(excluded.feed_token, s.feed_token),
    clock_skew_s = coalesce(excluded.clock_skew_s, s.clock_skew_s)
