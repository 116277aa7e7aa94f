-- name: Cigri3ActiveJobs
-- returns: param_id int64, param text?, cluster text?, batch text?, state text, remote_id text?,
-- returns: script bool
-- In the database of a CiGri 3: the jobs of campaign $1 that may be on a cluster, by cluster.
-- script: a prologue or an epilogue.
SELECT coalesce(j.param_id, 0)::bigint AS param_id, p.param, c.name::text AS cluster,
    c.batch::text AS batch, j.state::text AS state, j.remote_id::text AS remote_id,
    coalesce(j.param_id, 0) = 0 OR coalesce(j.tag, '') IN ('prologue', 'epilogue') AS script
FROM jobs AS j
LEFT JOIN parameters AS p ON p.id = j.param_id AND p.campaign_id = j.campaign_id
LEFT JOIN clusters AS c ON c.id = j.cluster_id
WHERE j.campaign_id = $1 AND j.state::text NOT IN ('terminated', 'event')
ORDER BY c.name, j.id;

-- name: Cigri3Campaigns
-- returns: id int64, grid_user text?, state text?, name text?, jdl text?, waiting int64,
-- returns: failed int64, done int64
-- In the database of a CiGri 3: its campaigns that are alive, with the tasks that wait, the jobs
-- that failed and have an open event, and those that are done.
SELECT c.id::bigint AS id, c.grid_user::text AS grid_user, c.state::text AS state,
    c.name::text AS name, c.jdl,
    (SELECT count(DISTINCT b.param_id) FROM bag_of_tasks AS b
        WHERE b.campaign_id = c.id) AS waiting,
    (SELECT count(*) FROM jobs AS j WHERE j.campaign_id = c.id AND j.state::text = 'event'
        AND EXISTS (SELECT FROM events AS e
            WHERE e.job_id = j.id AND e.state::text = 'open')) AS failed,
    (SELECT count(*) FROM jobs AS j WHERE j.campaign_id = c.id AND j.state::text = 'terminated'
        AND j.param_id > 0) AS done
FROM campaigns AS c
WHERE c.state::text IN ('in_treatment', 'paused')
ORDER BY c.id;

-- name: Cigri3Clusters
-- returns: name text, api_url text?, api_auth_type text?, api_username text?,
-- returns: api_password text?, api_auth_header text?, ssh_host text?, batch text?,
-- returns: resource_unit text?, properties text?, enabled bool?
-- In the database of a CiGri 3: its clusters.
SELECT name::text AS name, api_url::text AS api_url, api_auth_type::text AS api_auth_type,
    api_username::text AS api_username, api_password::text AS api_password,
    api_auth_header::text AS api_auth_header, ssh_host::text AS ssh_host, batch::text AS batch,
    resource_unit::text AS resource_unit, properties::text AS properties, enabled
FROM clusters ORDER BY id;

-- name: Cigri3Database
-- returns: name text
-- The database of a CiGri 3 by its name.
SELECT current_database()::text AS name;

-- name: Cigri3Events
-- returns: id int64, code text?, state text?, cluster text?, job_id int64?, param text?,
-- returns: opened text, message text?
-- In the database of a CiGri 3: the newest $2 events of campaign $1, or, where that is 0, of its
-- clusters; the oldest first.
SELECT e.id, e.code, e.state, e.cluster, e.job_id, e.param, e.opened, e.message
FROM (
    SELECT e.id::bigint AS id, e.code::text AS code, e.state::text AS state,
        c.name::text AS cluster, e.job_id::bigint AS job_id, p.param,
        coalesce(to_char(e.date_open, 'YYYY-MM-DD HH24:MI'), '?') AS opened, e.message
    FROM events AS e
    LEFT JOIN clusters AS c ON c.id = e.cluster_id
    LEFT JOIN jobs AS j ON j.id = e.job_id
    LEFT JOIN parameters AS p ON p.id = j.param_id AND p.id > 0
    WHERE e.class::text NOT IN ('notify', 'log') AND CASE WHEN $1 = 0
        THEN coalesce(e.campaign_id, 0) = 0 AND e.cluster_id IS NOT NULL
        ELSE e.campaign_id = $1 END
    ORDER BY e.id DESC LIMIT $2
) AS e ORDER BY e.id;

-- name: Cigri3Mappings
-- returns: grid_login text, cluster_login text?, cluster text
-- In the database of a CiGri 3: who is who on which cluster; a token begins with "Bearer ".
SELECT m.grid_login::text AS grid_login, m.cluster_login::text AS cluster_login,
    c.name::text AS cluster
FROM users_mapping AS m JOIN clusters AS c ON c.id = m.cluster_id
ORDER BY m.grid_login, c.id;

-- name: Cigri3Notifications
-- returns: grid_user text, type text?, identity text?, severity text?
-- In the database of a CiGri 3: who has subscribed to notifications, and with which address.
SELECT grid_user::text AS grid_user, type::text AS type, identity::text AS identity,
    severity::text AS severity
FROM user_notifications WHERE type::text IN ('mail', 'xmpp') ORDER BY id;

-- name: Cigri3Priorities
-- returns: grid_user text, cluster text, priority int?
-- In the database of a CiGri 3: which users come first on which cluster.
SELECT p.grid_user::text AS grid_user, c.name::text AS cluster, p.priority
FROM users_priority AS p JOIN clusters AS c ON c.id = p.cluster_id
ORDER BY p.id;

-- name: Cigri3Tasks
-- returns: id int64, param text?
-- In the database of a CiGri 3: the parameters of campaign $1 that wait and of which no job is
-- active, at most $3 behind number $2.
SELECT p.id::bigint AS id, p.param
FROM parameters AS p
WHERE p.campaign_id = $1 AND p.id > $2
    AND EXISTS (SELECT FROM bag_of_tasks AS b WHERE b.param_id = p.id AND b.campaign_id = $1)
    AND NOT EXISTS (SELECT FROM jobs AS j WHERE j.param_id = p.id AND j.campaign_id = $1
        AND j.state::text NOT IN ('terminated', 'event'))
ORDER BY p.id LIMIT $3;

-- name: HasTables
-- returns: found bool
-- Whether every table of $1 can be seen.
SELECT bool_and(to_regclass(t) IS NOT NULL) AS found FROM unnest($1::text[]) AS t;
