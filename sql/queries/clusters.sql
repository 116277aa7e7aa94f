-- name: AddCluster
-- returns: id int64
-- Adds cluster $1 of kind $2 at $3, the only way in which a cluster begins: open when it serves
-- this grid alone ($4), else observed until its operator says more. No row when there is one of
-- that name.
INSERT INTO clusters (name, kind, api_url, dedicated, mode)
VALUES ($1, $2, $3, $4, CASE WHEN $4 THEN 'unlimited' ELSE 'observe' END::cluster_mode)
ON CONFLICT (name) DO NOTHING
RETURNING id;

-- name: ChangeCluster
-- returns: id int
-- Sets the columns that $2, a JSON object, names; null empties one. `options` are merged, a null in
-- them removes one. Columns that are not listed here cannot be changed in this way.
UPDATE clusters AS c
SET (api_url, api_group, api_auth_type, api_username, api_password, api_auth_header, token_command,
    ssh_host,
    resource_unit, power, properties, default_resources, enabled, mode, mode_limit, job_ratio,
        queue_s,
    max_waiting, pending_kept, max_running, max_calls_per_min, hours, min_cycle_s,
        waiting_timeout_s,
    stress_limit, options)
    = (SELECT r.api_url, r.api_group, r.api_auth_type, r.api_username, r.api_password,
        r.api_auth_header,
        r.token_command, r.ssh_host, r.resource_unit, r.power, r.properties, r.default_resources,
            r.enabled,
        r.mode, r.mode_limit, r.job_ratio, r.queue_s, r.max_waiting, r.pending_kept, r.max_running,
        r.max_calls_per_min, r.hours, r.min_cycle_s, r.waiting_timeout_s, r.stress_limit,
        jsonb_strip_nulls(c.options || coalesce($2::jsonb -> 'options', '{}'))
       FROM jsonb_populate_record(c, $2::jsonb - 'options') AS r)
WHERE name = $1
RETURNING id;

-- name: ClusterAuth
-- returns: name text, api_auth_type text
SELECT name, api_auth_type FROM clusters WHERE id = $1;

-- name: ClusterForCheck
-- returns: id int64, name text, kind text, api_url text, api_auth_type text,
-- returns: api_username text?, api_password text?, api_auth_header text?, resource_unit text,
-- returns: properties text, options text, cluster_login text, token_command text?, api text
-- What a driver needs of cluster $1, and who user $2 is there.
SELECT c.id, c.name, c.kind, c.api_url, c.api_auth_type, c.api_username, c.api_password,
    c.api_auth_header,
    c.resource_unit, c.properties, c.options::text, coalesce(m.cluster_login, $2) AS cluster_login,
        c.token_command, c.api
FROM clusters AS c
LEFT JOIN users_mapping AS m ON m.cluster_id = c.id AND m.grid_login = $2
WHERE c.name = $1;

-- name: ClusterLimits
-- returns: max_array int?, max_bytes int64?
SELECT max_array, max_bytes FROM cluster_limits WHERE cluster_id = $1;

-- name: ClustersForSubmission
-- returns: id int64, name text, kind text, enabled bool, mode text, drained bool,
-- returns: drain_reason text?, default_resources text?, resource_unit text, cluster_login text,
-- returns: needs_token bool, has_token bool, token_s double?, failing bool,
-- returns: max_resources int?, free_resources int?
-- plan: generic
-- The clusters as submission needs them, with the login of user $1 there and what is known of the
-- moment.
SELECT c.id, c.name, c.kind, c.enabled, c.mode, c.drained, c.drain_reason, c.default_resources,
    c.resource_unit,
    coalesce(m.cluster_login, $1) AS cluster_login,
    c.api_auth_type = 'jwt' AND c.token_command IS NULL AND c.api_password IS NULL AS needs_token,
    m.token IS NOT NULL AS has_token,
        extract(epoch FROM finite(m.token_expires_at) - now())::float8 AS token_s,
    n.failing_since IS NOT NULL AS failing, n.max_resources, n.free_resources
FROM clusters AS c
LEFT JOIN users_mapping AS m ON m.cluster_id = c.id AND m.grid_login = $1
JOIN cluster_now AS n ON n.cluster_id = c.id
ORDER BY c.id;

-- name: DrainCluster
-- returns: id int64, name text
-- The claim reads this row FOR SHARE: what comes after this statement's commit claims nothing, and
-- what was before it is in `batches`. An existing order to kill stays.
UPDATE clusters
SET drained = true, kill_all = kill_all OR $2, drain_reason = $3, drained_by = $4,
    drained_at = now(),
    drained_until = $5::timestamptz
WHERE $1::text IS NULL OR name = $1
RETURNING id, name;

-- name: EndTimedDrains
-- returns: id int64
-- Ends the drains whose operator said until when.
UPDATE clusters
SET drained = false, kill_all = false, drain_reason = NULL, drained_by = NULL, drained_at = NULL,
    drained_until = NULL
WHERE drained_until <= now()
RETURNING id;

-- name: LearnLimit
-- A limit of cluster $1 that a refusal has taught (the other one is NULL); never raised by us, an
-- operator deletes the row.
INSERT INTO cluster_limits AS l (cluster_id, max_array, max_bytes, learnt_from)
    VALUES ($1, $2, $3, $4)
ON CONFLICT (cluster_id) DO UPDATE
SET max_array = least(l.max_array, excluded.max_array),
    max_bytes = least(l.max_bytes, excluded.max_bytes),
    learnt_from = excluded.learnt_from, learnt_at = now();

-- name: ListClusters
-- returns: item text
-- Every column of the registry but what is secret, with how the cluster does.
SELECT to_jsonb(c) - 'api_password'
    || jsonb_build_object('password_set', c.api_password IS NOT NULL,
        'failing_since', s.failing_since, 'error', s.error, 'answered_at', s.answered_at) AS item
FROM clusters AS c LEFT JOIN cluster_status AS s ON s.cluster_id = c.id
WHERE $1::text IS NULL OR c.name = $1
ORDER BY c.name;

-- name: LoadClusters
-- returns: id int64, name text, kind text, api_url text, api_auth_type text,
-- returns: api_username text, api_password text, api_auth_header text, token_command text,
-- returns: resource_unit text, properties text, options text, enabled bool, api text,
-- returns: stress_limit double, max_calls_per_min int?, min_cycle_s double, home text?
SELECT id, name, kind, api_url, api_auth_type, coalesce(api_username, '') AS api_username,
    coalesce(api_password, '') AS api_password, coalesce(api_auth_header, '') AS api_auth_header,
    coalesce(token_command, '') AS token_command, resource_unit, properties, options, enabled, api,
        stress_limit, max_calls_per_min,
    coalesce(min_cycle_s, CASE WHEN change_feed THEN 0 ELSE 5 END) AS min_cycle_s, home
FROM clusters ORDER BY id;

-- name: MarkClusterLost
-- returns: in_doubt int64, live int64
-- Its operator says that what was sent to cluster $1 until now will not come back.
UPDATE clusters SET lost_at = now(), lost_by = $2 WHERE name = $1
RETURNING
    (SELECT count(*) FROM batches AS b
     WHERE b.cluster_id = clusters.id AND b.state IN ('intended', 'in_doubt')) AS in_doubt,
    (SELECT count(*) FROM live AS l WHERE l.cluster_id = clusters.id) AS live;

-- name: HomeOfCluster
-- returns: home text?
-- The home of the local cluster $1; no row when there is none of that name.
SELECT home FROM clusters WHERE name = $1 AND dedicated;

-- name: MoveLocalCluster
-- returns: id int
-- The local cluster $1 of home $3 is there already: its daemon listens at $2 now. No row when there
-- is none, or when it is another home's and $4 is false.
UPDATE clusters SET api_url = $2, home = $3, enabled = true
WHERE name = $1 AND dedicated AND (home IS NULL OR home = $3 OR $4::bool)
RETURNING id;

-- name: RemoveCluster
-- returns: id int
-- Only one that no campaign has ever named: history is kept.
DELETE FROM clusters AS c
WHERE name = $1 AND NOT EXISTS (SELECT FROM campaign_clusters WHERE cluster_id = c.id)
RETURNING id;

-- name: ResumeCluster
-- returns: name text, id int
UPDATE clusters
SET drained = false, kill_all = false, drain_reason = NULL, drained_by = NULL, drained_at = NULL,
    drained_until = NULL
WHERE (drained OR kill_all) AND ($1::text IS NULL OR name = $1)
RETURNING name, id;

-- name: RetireLocalClusters
-- Local clusters of home $1 that are no longer among $2 get no more jobs; their history stays.
UPDATE clusters SET enabled = false
WHERE dedicated AND home = $1 AND name <> ALL ($2::text[]) AND enabled;

-- name: ShowClusters
-- returns: id int, name text, kind text, api_url text, api_group text?, api_auth_type text,
-- returns: api_auth_header text?, ssh_host text?, resource_unit text, power int,
-- returns: properties text, default_resources text?, options text, enabled bool, mode text,
-- returns: mode_limit int?, job_ratio text, queue_s double, max_waiting int?,
-- returns: pending_kept int, max_running int?, max_calls_per_min int?, hours text?,
-- returns: min_cycle_s double?, waiting_timeout_s int, stress_limit double, drained bool,
-- returns: kill_all bool, drain_reason text?, drained_by text?, drained_at text?,
-- returns: drained_until text?, created_at text, stress double, error text?, failures int?,
-- returns: calls_per_min double?, calls_by text?, half_open_limit int?, open_for double?,
-- returns: would_send text?, clock_skew_s double?, polled_ago double?, failing_for double?,
-- returns: retry_in double?, max_array int?, max_bytes int64?, learnt_from text?,
-- returns: max_resources int?, free_resources int?, used_resources int?,
-- returns: unavailable_resources int?, used_by_cigri int?, jobs_running int?,
-- returns: jobs_waiting int?, note text?, seen_at double?, disabled_by_hand bool, served_by text?
-- plan: generic
-- Clusters with all that is known of them: number $1 or name $2 (NULL: all), disabled ones only
-- when $3.
SELECT c.id, c.name, c.kind, c.api_url, c.api_group, c.api_auth_type, c.api_auth_header, c.ssh_host,
       c.resource_unit, c.power, c.properties, c.default_resources, c.options, c.enabled, c.mode,
       c.mode_limit, c.job_ratio, c.queue_s, c.max_waiting, c.pending_kept, c.max_running,
       c.max_calls_per_min, c.hours, c.min_cycle_s, c.waiting_timeout_s, c.stress_limit,
       c.drained, c.kill_all, c.drain_reason, c.drained_by, c.drained_at, c.drained_until,
           c.created_at,
       coalesce(n.stress, 0) AS stress, n.error, n.failures,
       CASE WHEN c.dedicated THEN coalesce(n.calls_per_min, 0)
           ELSE coalesce(a.calls, 0) END AS calls_per_min,
       a.by_module AS calls_by, p.half_open_limit,
           extract(epoch FROM p.open_until - now()) AS open_for,
       (SELECT jsonb_agg(jsonb_build_object('campaign', w.campaign_id, 'jobs', w.n)
           ORDER BY w.campaign_id)
        FROM would_send AS w WHERE w.cluster_id = c.id AND c.mode = 'observe') AS would_send,
       n.clock_skew_s, extract(epoch FROM now() - n.polled_at) AS polled_ago,
       extract(epoch FROM now() - n.failing_since) AS failing_for,
       extract(epoch FROM n.retry_at - now()) AS retry_in,
       l.max_array, l.max_bytes, l.learnt_from,
       n.max_resources, n.free_resources, n.used_resources, n.unavailable_resources,
           n.used_by_cigri,
       n.jobs_running, n.jobs_waiting, n.note, extract(epoch FROM n.seen_at) AS seen_at,
       EXISTS (SELECT FROM events AS e WHERE e.cluster_id = c.id AND e.campaign_id IS NULL
           AND e.state = 'open'
               AND e.code = 'CLUSTER_MANUALLY_DISABLED') AS disabled_by_hand,
       (SELECT r.host || ':' || r.pid FROM cluster_leases AS s
        JOIN living_runners AS r ON r.id = s.runner_id WHERE s.cluster_id = c.id) AS served_by
FROM clusters AS c
JOIN cluster_now AS n ON n.cluster_id = c.id
LEFT JOIN api_load AS p ON p.api = c.api
LEFT JOIN LATERAL (
    SELECT sum(m.n) AS calls, jsonb_object_agg(m.module, m.n) AS by_module
    FROM (SELECT module, sum(n) AS n FROM api_calls
        WHERE cluster_id = c.id AND slice > now() - interval '1 minute'
          GROUP BY module) AS m
) AS a ON true
LEFT JOIN cluster_limits AS l ON l.cluster_id = c.id
WHERE ($1::int IS NULL OR c.id = $1) AND ($2::text IS NULL OR c.name = $2) AND ($3 OR c.enabled)
ORDER BY c.id;

-- name: StoreCapabilities
-- Writes what the driver of kind $1 can do to its clusters. A row that says so already is left
-- alone.
UPDATE clusters
SET (change_feed, exact_walltime, dedicated, time_resolution_s, groups, gives_files) =
    ($2::boolean, $3::boolean, $4::boolean, $5::float8, $6::boolean, $7::boolean)
WHERE kind = $1
    AND (change_feed, exact_walltime, dedicated, time_resolution_s, groups, gives_files)
        IS DISTINCT FROM ($2::boolean, $3::boolean, $4::boolean, $5::float8, $6::boolean,
            $7::boolean);

-- name: StoredSecrets
-- returns: name text, secret text
-- Passwords and tokens that the key file decrypts, each with what it is of.
SELECT 'cluster ' || name AS name, api_password AS secret FROM clusters
WHERE api_password IS NOT NULL
UNION ALL
SELECT 'token of ' || m.grid_login || ' for ' || c.name, m.token
FROM users_mapping AS m JOIN clusters AS c ON c.id = m.cluster_id WHERE m.token IS NOT NULL
ORDER BY 1;
