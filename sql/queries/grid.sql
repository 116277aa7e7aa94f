-- name: BeginEpoch
-- returns: epoch int64
-- $1 becomes the leader: from now on nothing that was claimed or applied under an older epoch can
-- commit.
UPDATE grid SET epoch = epoch + 1, leader = $1, leading_since = now() RETURNING epoch;

-- name: BeginLease
-- The leader of epoch $1 leads for $2 seconds from now on.
UPDATE leader_lease
SET epoch = $1, ends_at = clock_timestamp() + $2::double precision * interval '1 second';

-- name: CurrentEpoch
-- returns: epoch int64
-- The epoch of whoever leads, for a module that was started by hand.
SELECT epoch FROM grid;

-- name: EndExpiredLeader
-- returns: ended bool
-- Ends the session that holds the leader's lock when its lease is over: its process is paused, or
-- its host or the way to it is gone. Not a session that took the lock just now and has no lease
-- yet; a server with track_activities off does not know which one that is.
SELECT pg_terminate_backend(l.pid) AS ended
FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid), leader_lease AS e
WHERE e.ends_at < clock_timestamp()
    AND coalesce(a.state_change, a.backend_start) < clock_timestamp() - interval '3 seconds'
    AND l.granted AND l.locktype = 'advisory' AND l.objsubid = 2
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND l.classid::bigint = hashtext('cigri almighty')::bigint & 4294967295
    AND l.objid::bigint = hashtext(current_schema())::bigint & 4294967295;

-- name: EndTransactionsOfOldEpoch
-- returns: ended bool
-- Ends the sessions that hold the row of `grid` in an open transaction. The new leader asks: they
-- are modules of a leader that does not lead any more, and may be paused.
SELECT pg_terminate_backend(pid) AS ended
FROM pg_locks
WHERE locktype = 'relation' AND relation = 'grid'::regclass AND mode = 'RowShareLock' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND pid <> pg_backend_pid();

-- name: GridStatus
-- returns: grid_id text, epoch int64, leader text?, embedded bool, leading_s double?,
-- returns: bytes int64, server text, campaigns int64, live int64, clock double
-- The grid in one row, for `cigri status`.
SELECT g.grid_id, g.epoch, g.leader, g.embedded,
    extract(epoch FROM now() - g.leading_since) AS leading_s,
       pg_database_size(current_database()) AS bytes, current_setting('server_version') AS server,
       (SELECT count(*) FROM campaigns WHERE state IN ('in_treatment', 'paused')) AS campaigns,
       (SELECT count(*) FROM live) AS live,
       extract(epoch FROM clock_timestamp()) AS clock
FROM grid AS g;

-- name: Heartbeat
-- Module $1 of process $3 on host $2, in epoch $4, has made $6 passes; the last took $7 ms.
-- $5: when its process started.
INSERT INTO modules AS m (name, host, pid, epoch, started_at, passes, last_pass_at, last_pass_ms)
VALUES ($1, $2, $3, $4, to_timestamp($5), $6, now(), $7)
ON CONFLICT (name) DO UPDATE
SET host = excluded.host, pid = excluded.pid, epoch = excluded.epoch,
    started_at = excluded.started_at, passes = excluded.passes,
    last_pass_at = excluded.last_pass_at, last_pass_ms = excluded.last_pass_ms
WHERE m.epoch <= excluded.epoch;

-- name: HoldEpoch
-- returns: epoch int64
-- Holds the epoch $1 for the rest of the transaction; no row: another almighty leads.
-- FOR SHARE and not KEY SHARE: a new leader's UPDATE of the epoch has to wait for us.
SELECT epoch FROM grid WHERE epoch = $1 FOR SHARE;

-- name: Leader
-- returns: leader text
-- host:pid of the almighty whose lease is not over; no row when there is none.
SELECT coalesce(g.leader, '') AS leader FROM grid AS g JOIN leader_lease AS l USING (epoch)
WHERE g.leader IS NOT NULL AND l.ends_at > clock_timestamp();

-- name: LeaderView
-- returns: epoch int64, work bool
-- Is there anything to do at all, and do we still lead?
SELECT (SELECT epoch FROM grid) AS epoch,
       EXISTS (SELECT FROM campaigns WHERE state IN ('in_treatment', 'paused'))
       OR EXISTS (SELECT FROM campaigns WHERE state = 'cancelled' AND completion_time IS NULL)
       OR EXISTS (SELECT FROM live)
       OR EXISTS (SELECT FROM batches WHERE state IN ('intended', 'in_doubt')) AS work;

-- name: MarkEmbedded
UPDATE grid SET embedded = true WHERE NOT embedded;

-- name: ModuleEnds
-- returns: name text, why text
-- Modules that do not run, and what ended them last.
SELECT name, why FROM ended_modules ORDER BY name;

-- name: ModuleStatus
-- returns: name text, host text, pid int, epoch int64, passes int64, idle_s double?,
-- returns: last_pass_ms double?
-- What each module says of itself.
SELECT name, host, pid, epoch, passes, extract(epoch FROM now() - last_pass_at) AS idle_s,
    last_pass_ms
FROM modules ORDER BY name;

-- name: NotifyProgressOf
SELECT pg_notify('cigri_progress', $1::text);

-- name: NotifyWake
SELECT pg_notify('cigri_wake', '');

-- name: RenewLease
-- The leader of epoch $1 leads for $2 seconds from now on; no row: another leads.
UPDATE leader_lease SET ends_at = clock_timestamp() + $2::double precision * interval '1 second'
WHERE epoch = $1;

-- name: ReserveLease
-- Whoever has just taken the leader's lock is given $1 seconds to begin its epoch: nobody takes it
-- for a leader whose lease is over. The leader before it cannot renew any more.
UPDATE leader_lease
SET epoch = (SELECT g.epoch + 1 FROM grid AS g),
    ends_at = clock_timestamp() + $1::double precision * interval '1 second';

-- name: ServerAddress
-- returns: address text
-- The server of this session.
SELECT coalesce(host(inet_server_addr()) || ':' || inet_server_port(),
    'the socket in ' || split_part(current_setting('unix_socket_directories'), ',', 1)) AS address;

-- name: SetAuditUser
-- returns: name text
-- Whom the histories name when no request does: $1, for this transaction.
SELECT set_config('cigri.user', $1, true) AS name;

-- name: TakeTaskIds
-- returns: first int64
-- $1 ids in a row; the first of them. One row for all: in a transaction of its own.
UPDATE id_blocks SET next = next + $1 WHERE name = 'task' RETURNING next - $1 AS first;

-- name: TransactionHorizon
-- returns: pg_snapshot_xmin text
-- Transactions older than this have ended: what they recorded is visible.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text;

-- name: TryLead
-- returns: taken bool, lease_over_s double
-- One almighty leads a schema: the lock lives as long as this session. Never waits: a blocked
-- statement would keep its snapshot and hold back vacuum. `lease_over_s`: for how many seconds the
-- last leader's lease is over (negative: it is not).
SELECT pg_try_advisory_lock(hashtext('cigri almighty'), hashtext(current_schema())) AS taken,
    least(extract(epoch FROM clock_timestamp()) - extract(epoch FROM ends_at), 1e6)
        AS lease_over_s
FROM leader_lease;

-- name: GridId
-- returns: grid_id text
-- What distinguishes this grid's tags from those of other grids on the same clusters.
SELECT grid_id FROM grid;

-- name: GridIdentity
-- returns: grid_id text, epoch int64, led bool
SELECT grid_id, epoch, leader IS NOT NULL AS led FROM grid;

-- name: Now
-- returns: now double
-- The database's clock in seconds since the epoch.
SELECT extract(epoch FROM now()) AS now;
