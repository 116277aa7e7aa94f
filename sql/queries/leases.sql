-- name: AddRunner
-- Runner $1 on host $2, of home $3, process $4, lives for $5 seconds from now on. Runners that
-- ended long ago are forgotten.
WITH gone AS (
    DELETE FROM runners WHERE ends_at < clock_timestamp() - interval '1 hour'
)
INSERT INTO runners (id, host, home, pid, session, ends_at)
VALUES ($1, $2, $3, $4, pg_backend_pid(),
    clock_timestamp() + $5::double precision * interval '1 second');

-- name: ClusterLeases
-- returns: cluster_id int64, name text, epoch int64, runner_id text?, has_home bool,
-- returns: due_runner_id text?
-- Every cluster with the living runner that has it, and the one that has to have it: of its home
-- the first one that lives there; of a cluster that some runners cannot reach the one that has it,
-- or else the first one, that can.
SELECT c.id AS cluster_id, c.name, coalesce(l.epoch, 0) AS epoch, r.id AS runner_id,
    c.home IS NOT NULL AS has_home, CASE
    WHEN c.home IS NOT NULL THEN (
        SELECT h.id FROM living_runners AS h WHERE h.home = c.home
        ORDER BY h.started_at, h.id LIMIT 1)
    WHEN EXISTS (SELECT FROM unreachable_clusters AS u JOIN living_runners AS h
            ON h.id = u.runner_id WHERE u.cluster_id = c.id AND u.until > now()) THEN (
        SELECT h.id FROM living_runners AS h
        WHERE NOT EXISTS (SELECT FROM unreachable_clusters AS u
            WHERE u.cluster_id = c.id AND u.runner_id = h.id AND u.until > now())
        ORDER BY h.id IS DISTINCT FROM r.id, h.started_at, h.id LIMIT 1)
    END AS due_runner_id
FROM clusters AS c
LEFT JOIN cluster_leases AS l ON l.cluster_id = c.id
LEFT JOIN living_runners AS r ON r.id = l.runner_id
ORDER BY c.id;

-- name: EndTransactionsOfCluster
-- returns: ended bool
-- Ends the session whose transaction holds the lease of cluster $1: a runner that has it no more,
-- and stands still in the middle of a claim. A runner has one transaction for a cluster at a time.
SELECT pg_terminate_backend(a.pid) AS ended
FROM cluster_leases AS l JOIN pg_stat_activity AS a ON a.backend_xid = l.xmax
WHERE l.cluster_id = $1 AND a.pid <> pg_backend_pid();

-- name: GiveCluster
-- The runner of cluster $1 in epoch $2 has it no more: another one may take it at once.
UPDATE cluster_leases SET runner_id = NULL WHERE cluster_id = $1 AND epoch = $2;

-- name: HoldCluster
-- returns: epoch int64
-- plan: generic
-- Holds the lease of cluster $1 for the rest of the transaction; no row: it has another epoch than
-- $2, so another runner has taken it. FOR SHARE and not KEY SHARE: that one has to wait for us.
SELECT epoch FROM cluster_leases WHERE cluster_id = $1 AND epoch = $2 FOR SHARE;

-- name: LivingRunners
-- returns: id text
-- The oldest first: the order in which they share clusters.
SELECT id FROM living_runners ORDER BY started_at, id;

-- name: MarkHolderUnreachable
-- The updator reaches cluster $1 neither itself nor through the runner that has it, for half a
-- minute already: if there is another runner that may, that one is to have it.
INSERT INTO unreachable_clusters (cluster_id, runner_id, until)
SELECT l.cluster_id, l.runner_id, now() + interval '10 minutes'
FROM cluster_leases AS l
JOIN living_runners AS r ON r.id = l.runner_id
JOIN clusters AS c ON c.id = l.cluster_id AND c.home IS NULL
JOIN cluster_status AS s ON s.cluster_id = l.cluster_id
WHERE l.cluster_id = $1 AND s.failing_since < now() - interval '30 seconds'
    AND EXISTS (
        SELECT FROM living_runners AS o
        WHERE o.id <> l.runner_id AND NOT EXISTS (
            SELECT FROM unreachable_clusters AS u
            WHERE u.cluster_id = $1 AND u.runner_id = o.id AND u.until > now()))
ON CONFLICT (cluster_id, runner_id) DO UPDATE SET until = excluded.until;

-- name: MarkUnreachable
-- The runner that has cluster $1 in epoch $2 cannot reach it, and the leader's polls do: another
-- one is to have it for an hour.
INSERT INTO unreachable_clusters (cluster_id, runner_id, until)
SELECT l.cluster_id, l.runner_id, now() + interval '1 hour'
FROM cluster_leases AS l JOIN cluster_status AS s ON s.cluster_id = l.cluster_id
WHERE l.cluster_id = $1 AND l.epoch = $2 AND l.runner_id IS NOT NULL
    AND s.failing_since IS NULL AND s.answered_at > now() - interval '2 minutes'
ON CONFLICT (cluster_id, runner_id) DO UPDATE SET until = excluded.until;

-- name: MarkUnreachableFrom
-- The updator, of home $2, does not reach cluster $1 itself, and the runner that has it does.
INSERT INTO unreachable_clusters (cluster_id, runner_id, until)
SELECT c.id, r.id, now() + interval '10 minutes'
FROM clusters AS c JOIN living_runners AS r ON r.home = $2
WHERE c.id = $1
ON CONFLICT (cluster_id, runner_id) DO UPDATE
SET until = greatest(unreachable_clusters.until, excluded.until);

-- name: MarkWithoutDriver
-- The runner that has cluster $1 in epoch $2 can make no driver of it, for want of the key of its
-- password: if there is another runner that may, that one is to have it for an hour.
INSERT INTO unreachable_clusters (cluster_id, runner_id, until)
SELECT l.cluster_id, l.runner_id, now() + interval '1 hour'
FROM cluster_leases AS l
WHERE l.cluster_id = $1 AND l.epoch = $2 AND EXISTS (
    SELECT FROM living_runners AS o
    WHERE o.id <> l.runner_id AND NOT EXISTS (
        SELECT FROM unreachable_clusters AS u
        WHERE u.cluster_id = $1 AND u.runner_id = o.id AND u.until > now()))
ON CONFLICT (cluster_id, runner_id) DO UPDATE SET until = excluded.until;

-- name: NotifyGrants
-- Wakes the runners.
SELECT pg_notify('cigri_grants', '');

-- name: RemoveRunner
-- Runner $1 ends: others take its clusters at once.
DELETE FROM runners WHERE id = $1;

-- name: RenewRunner
-- Runner $1 lives for another $2 seconds, with the present session.
UPDATE runners
SET session = pg_backend_pid(),
    ends_at = clock_timestamp() + $2::double precision * interval '1 second'
WHERE id = $1;

-- name: ShowRunners
-- returns: host text, home text, pid int, up_s double, clusters text[]
-- Who serves which clusters, for `cigri status`.
SELECT r.host, r.home, r.pid, extract(epoch FROM now() - r.started_at)::float8 AS up_s,
    ARRAY(SELECT c.name FROM clusters AS c JOIN cluster_leases AS l ON l.cluster_id = c.id
          WHERE l.runner_id = r.id ORDER BY c.name) AS clusters
FROM living_runners AS r ORDER BY r.started_at, r.id;

-- name: TakeCluster
-- returns: epoch int64
-- Runner $2 takes cluster $1, whose epoch it has seen to be $3; no row: another one was faster.
-- Waits for the transactions of the runner before it.
INSERT INTO cluster_leases AS l (cluster_id, epoch, runner_id) VALUES ($1, $3::bigint + 1, $2)
ON CONFLICT (cluster_id) DO UPDATE
SET epoch = excluded.epoch, runner_id = excluded.runner_id, since = now()
WHERE l.epoch = $3
RETURNING epoch;
