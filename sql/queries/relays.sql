-- name: AskRelay
-- returns: id int64, host text
-- A call to cluster $1 by its method, path, body and patience (ms), in the name of $6, for the
-- runner of another home than $7. No row: none of another home would make it.
WITH asked AS (
    INSERT INTO relayed_calls (cluster_id, caller, method, path, body, timeout_ms, cluster_user)
    SELECT cluster_id, pg_backend_pid(), $2, $3, $4, $5, $6
    FROM relaying_homes WHERE cluster_id = $1 AND home <> $7
    RETURNING id
), notified AS (
    SELECT h.home, pg_notify('relay_' || md5(h.home), '')
    FROM relaying_homes AS h WHERE h.cluster_id = $1
)
SELECT asked.id, split_part(notified.home, ':', 1) AS host FROM asked, notified;

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
    FROM relaying_homes AS h
    WHERE h.cluster_id = r.cluster_id AND h.home = $1 AND r.taken_at IS NOT NULL
        AND r.outcome IS NULL
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
    SELECT FROM living_runners AS r JOIN relaying_homes AS h ON h.home = r.home
    WHERE h.cluster_id = $1
) AS lives;

-- name: ServedElsewhere
-- returns: elsewhere bool
-- Whether the runner that has cluster $1 is another home's than $2.
SELECT EXISTS (
    SELECT FROM relaying_homes WHERE cluster_id = $1 AND home <> $2
) AS elsewhere;

-- name: TakeRelayAnswer
-- returns: outcome text?, status int?, headers text?, answer bytes, error text?
-- The answer to call $1, which is over then. No row: it has none yet.
DELETE FROM relayed_calls WHERE id = $1 AND outcome IS NOT NULL
RETURNING outcome, status, headers, answer, error;

-- name: TakeRelayedCalls
-- returns: id int64, cluster_id int64, method text, path text, body bytes, timeout_ms int
-- returns: cluster_user text
-- At most $2 calls to the clusters of home $1, for its runner; none that its caller has given up,
-- ended before, or made before a backup. Those that nobody waits for any more are forgotten.
WITH old AS (
    DELETE FROM relayed_calls
    WHERE asked_at < now() - (timeout_ms * interval '1 ms' + interval '5 minutes')
), due AS (
    SELECT id FROM relayed_calls
    WHERE taken_at IS NULL AND asked_at > now() - interval '10 seconds'
        AND cluster_id IN (SELECT cluster_id FROM relaying_homes WHERE home = $1)
    ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
)
UPDATE relayed_calls AS r SET taken_at = now() FROM due WHERE r.id = due.id
RETURNING r.id, r.cluster_id, r.method, r.path, r.body, r.timeout_ms, r.cluster_user;

-- name: WithdrawRelayedCall
-- returns: taken bool
-- Nobody waits for call $1 any more; whether it may have been carried out.
DELETE FROM relayed_calls WHERE id = $1 RETURNING taken_at IS NOT NULL AS taken;
