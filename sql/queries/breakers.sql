-- name: CloseBreaker
-- The API $1 answers again: the breaker closes. `half_open_limit` stays until jobs were taken.
UPDATE api_load SET failures = 0, open_until = NULL, error = NULL WHERE api = $1;

-- name: CountCalls
-- $3 calls to cluster $1 made by module $2, in the slice of 10 s that is now.
INSERT INTO api_calls AS a (cluster_id, module, slice, n)
VALUES ($1, $2, to_timestamp(floor(extract(epoch FROM now()) / 10) * 10), $3)
ON CONFLICT (cluster_id, module, slice) DO UPDATE SET n = a.n + excluded.n;

-- name: CountFailedCall
-- returns: failures int
-- Counts a call to API $1 that it did not answer.
UPDATE api_load SET failures = failures + 1, error = $2 WHERE api = $1 RETURNING failures;

-- name: DropOldCalls
-- Counts of calls that nobody shows any more.
DELETE FROM api_calls WHERE slice < now() - interval '10 minutes';

-- name: LockApi
-- returns: tokens double, failures int, error text, was_open bool, age_s double,
-- returns: open_s double, ceiling int
-- The row of API $1, inserted when it is missing and locked until the end of the transaction, so
-- that calls are taken one after the other. `ceiling`: the lowest of the clusters that share it. A
-- clock that was set back has left times to come: from now on it counts again.
INSERT INTO api_load AS a (api) VALUES ($1)
ON CONFLICT (api) DO UPDATE SET filled_at = least(a.filled_at, clock_timestamp())
RETURNING a.tokens, a.failures, coalesce(a.error, '') AS error,
    a.open_until IS NOT NULL AS was_open,
    greatest(least(extract(epoch FROM clock_timestamp() - a.filled_at), 3600), 0)::float8 AS age_s,
    greatest(extract(epoch FROM a.open_until - clock_timestamp()), 0)::float8 AS open_s,
    coalesce((SELECT min(c.max_calls_per_min) FROM clusters AS c WHERE c.api = $1), 0)
        AS ceiling;

-- name: OpenBreaker
-- Nobody calls API $1 for $2 seconds. When it answers again, the runner submits one job first.
UPDATE api_load
SET open_until = clock_timestamp() + $2 * interval '1 second', half_open_limit = 1
WHERE api = $1;

-- name: RaiseHalfOpenLimit
-- The API of cluster $1 has taken a batch after its breaker was open: the next claim may be twice
-- as large; after ten of them there is no limit.
UPDATE api_load AS a
SET half_open_limit = CASE WHEN a.half_open_limit >= 512 THEN NULL ELSE 2 * a.half_open_limit END
FROM clusters AS c
WHERE c.id = $1 AND a.api = c.api AND a.half_open_limit IS NOT NULL;

-- name: TakeCall
-- What is left of the tokens of API $1.
UPDATE api_load SET tokens = $2, filled_at = clock_timestamp() WHERE api = $1;
