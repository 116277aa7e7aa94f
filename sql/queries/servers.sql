-- name: DatabaseServer
-- returns: address text, version text, up_s double, keeps_commits bool, synchronous_names text,
-- returns: sees_standbys bool
-- The server of this session. `keeps_commits`: it answers a commit when that is on its disk.
-- `sees_standbys`: this role may read what the server says of them.
SELECT coalesce(host(inet_server_addr()) || ':' || inet_server_port(), 'the socket in '
        || split_part(current_setting('unix_socket_directories'), ',', 1)) AS address,
    current_setting('server_version') AS version,
    extract(epoch FROM now() - pg_postmaster_start_time()) AS up_s,
    current_setting('synchronous_commit') <> 'off' AND current_setting('fsync') = 'on'
        AS keeps_commits,
    current_setting('synchronous_standby_names') AS synchronous_names,
    pg_has_role('pg_monitor', 'USAGE') OR pg_has_role('pg_read_all_stats', 'USAGE')
        AS sees_standbys;

-- name: DatabaseStandbys
-- returns: name text, address text, state text, synchronous bool, behind_bytes double?,
-- returns: behind_s double?
-- The standbys of the server of this session, by name; bases that are being copied are none.
SELECT coalesce(nullif(application_name, ''), '?') AS name,
    coalesce(host(client_addr), 'this host') AS address, coalesce(state, '?') AS state,
    coalesce(sync_state IN ('sync', 'quorum'), false) AS synchronous,
    pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::float8 AS behind_bytes,
    extract(epoch FROM replay_lag)::float8 AS behind_s
FROM pg_stat_replication
WHERE application_name NOT IN ('pg_basebackup', 'pg_receivewal')
ORDER BY 1, 2;
