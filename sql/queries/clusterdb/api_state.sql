-- The row of API $1, made when it is missing and locked until the end of the transaction: who takes a
-- call takes it from what the one before left. `ceiling`: the lowest of the clusters that share it.
INSERT INTO api_load AS a (api) VALUES ($1)
ON CONFLICT (api) DO UPDATE SET api = excluded.api
RETURNING a.tokens, a.failures, coalesce(a.error, '') AS error, a.shut_until IS NOT NULL AS was_shut,
    least(extract(epoch FROM clock_timestamp() - a.filled_at), 3600)::float8 AS age_s,
    greatest(extract(epoch FROM a.shut_until - clock_timestamp()), 0)::float8 AS shut_s,
    coalesce((SELECT min(c.max_calls_per_min) FROM clusters AS c WHERE c.api = $1), 0) AS ceiling
