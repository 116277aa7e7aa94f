-- name: AskRelay
-- returns: id int64
-- A call to cluster $1 by its method, path, body and patience (ms), for the runner of its home.
WITH asked AS (
    INSERT INTO relayed_calls (cluster_id, caller, method, path, body, timeout_ms)
    VALUES ($1, pg_backend_pid(), $2, $3, $4, $5) RETURNING id, cluster_id
), notified AS (
    SELECT pg_notify('relay_' || md5(c.home), '')
    FROM clusters AS c JOIN asked ON asked.cluster_id = c.id
)
SELECT asked.id FROM asked, notified;

-- name: AnswerRelay
-- What the cluster answered to call $1; its caller is notified. A call that nobody waits for
-- any more has no row.
WITH answered AS (
    UPDATE relayed_calls
    SET outcome = $2, status = $3, headers = $4, answer = $5, error = $6
    WHERE id = $1 RETURNING caller
)
SELECT pg_notify('relay_' || caller, '') FROM answered;

-- name: GiveUpRelayedCalls
-- The runner of home $1 begins: what the one before it had taken has no answer.
WITH given_up AS (
    UPDATE relayed_calls AS r SET outcome = 'maybe_sent', error = 'its runner has ended'
    FROM clusters AS c
    WHERE c.id = r.cluster_id AND c.home = $1 AND r.taken_at IS NOT NULL AND r.outcome IS NULL
    RETURNING r.caller
)
SELECT pg_notify('relay_' || caller, '') FROM given_up;

-- name: RelayChannel
-- returns: channel text
-- What the runner of home $1 hears.
SELECT 'relay_' || md5($1) AS channel;

-- name: RelayLives
-- returns: lives bool
-- Whether there is a runner that makes calls to cluster $1.
SELECT EXISTS (
    SELECT FROM living_runners AS r JOIN clusters AS c ON c.home = r.home WHERE c.id = $1
) AS lives;

-- name: TakeRelayAnswer
-- returns: outcome text?, status int?, headers text?, answer bytes, error text?
-- The answer to call $1, which is over then. No row: it has none yet.
DELETE FROM relayed_calls WHERE id = $1 AND outcome IS NOT NULL
RETURNING outcome, status, headers, answer, error;

-- name: TakeRelayedCalls
-- returns: id int64, api_url text, method text, path text, body bytes, timeout_ms int
-- At most $2 calls to the local clusters of home $1, for its runner; none that its caller has given
-- up, ended before, or made before a backup. Those that nobody waits for any more are forgotten.
WITH old AS (
    DELETE FROM relayed_calls
    WHERE asked_at < now() - (timeout_ms * interval '1 ms' + interval '5 minutes')
), due AS (
    SELECT r.id FROM relayed_calls AS r JOIN clusters AS c ON c.id = r.cluster_id
    WHERE c.home = $1 AND r.taken_at IS NULL AND r.asked_at > now() - interval '10 seconds'
    ORDER BY r.id LIMIT $2 FOR UPDATE OF r SKIP LOCKED
)
UPDATE relayed_calls AS r SET taken_at = now()
FROM due, clusters AS c
WHERE r.id = due.id AND c.id = r.cluster_id
RETURNING r.id, c.api_url, r.method, r.path, r.body, r.timeout_ms;

-- name: WithdrawRelayedCall
-- returns: taken bool
-- Nobody waits for call $1 any more; whether it may have been carried out.
DELETE FROM relayed_calls WHERE id = $1 RETURNING taken_at IS NOT NULL AS taken;
