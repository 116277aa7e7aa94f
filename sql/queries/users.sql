-- name: AddApiToken
-- returns: item text
INSERT INTO api_tokens (grid_user, hash, prefix, created_by, days, expires_at)
VALUES ($1, $2, $3, $4, $5, now() + $5::int * interval '1 day')
RETURNING to_jsonb(api_tokens) - 'hash' AS item;

-- name: AddMember
INSERT INTO members (kind, name, grid_user, added_by) VALUES ($1, $2, $3, $4)
ON CONFLICT (kind, name, grid_user) DO NOTHING;

-- name: AddOperator
INSERT INTO operators (name, added_by) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING;

-- name: DropClusterToken
UPDATE users_mapping SET token = NULL, token_expires_at = NULL
WHERE grid_login = $1 AND cluster_id = $2 AND token IS NOT NULL;

-- name: ExpiringTokens
-- returns: id int64, token_s double, end_s double, report bool
-- Campaigns whose user's token for cluster $1 expires within a day and before the campaign ends
-- (`report`), until TOKEN_EXPIRES is open; and those where it is open and that is no longer so.
SELECT c.id, coalesce(extract(epoch FROM finite(m.token_expires_at) - now()), 0) AS token_s,
    coalesce(extract(epoch FROM f.end_high - now()), 0) AS end_s, x.expires AS report
FROM campaigns AS c
JOIN campaign_clusters AS cc ON cc.campaign_id = c.id AND cc.cluster_id = $1
    AND cc.left_at IS NULL
JOIN clusters AS k ON k.id = $1 AND k.token_command IS NULL
LEFT JOIN users_mapping AS m
    ON m.cluster_id = $1 AND m.grid_login = c.grid_user AND m.token IS NOT NULL
LEFT JOIN forecasts AS f ON f.campaign_id = c.id AND f.cluster_id = 0
CROSS JOIN LATERAL (
    SELECT coalesce(
        m.token_expires_at BETWEEN now() AND least(f.end_high, now() + interval '1 day'), false)
) AS x (expires)
WHERE c.state IN ('in_treatment', 'paused')
    AND x.expires <> EXISTS (
        SELECT FROM events AS e
        WHERE e.state = 'open' AND e.code = 'TOKEN_EXPIRES' AND e.campaign_id = c.id
            AND e.cluster_id = $1);

-- name: ListAffinities
-- returns: item text
SELECT jsonb_build_object('user', p.grid_user, 'cluster', c.name, 'priority', p.priority) AS item
FROM users_priority AS p JOIN clusters AS c ON c.id = p.cluster_id
ORDER BY p.grid_user, c.name;

-- name: ListApiTokens
-- returns: item text
SELECT to_jsonb(t) - 'hash' AS item FROM api_tokens AS t WHERE revoked_at IS NULL
ORDER BY grid_user, id;

-- name: ListClusterTokens
-- returns: cluster_id int, name text, token text, expires int64?
SELECT m.cluster_id, c.name, m.token,
    extract(epoch FROM finite(m.token_expires_at))::bigint AS expires
FROM users_mapping AS m
JOIN clusters AS c ON c.id = m.cluster_id
WHERE m.grid_login = $1 AND m.token IS NOT NULL
ORDER BY m.cluster_id;

-- name: ListMappings
-- returns: item text
SELECT jsonb_build_object('user', m.grid_login, 'cluster', c.name, 'login', m.cluster_login,
    'token_set', m.token IS NOT NULL, 'token_expires_at', m.token_expires_at) AS item
FROM users_mapping AS m JOIN clusters AS c ON c.id = m.cluster_id
ORDER BY m.grid_login, c.name;

-- name: ListMembers
-- returns: item text
SELECT jsonb_build_object('user', grid_user, 'kind', kind, 'name', name, 'added_by', added_by,
    'added_at', added_at) AS item
FROM members ORDER BY kind, name, grid_user;

-- name: ListOperators
-- returns: item text
SELECT to_jsonb(o) AS item FROM operators AS o ORDER BY name;

-- name: Members
-- returns: grid_user text, kind text, name text
SELECT grid_user, kind, name FROM members;

-- name: MissingTokens
-- returns: campaign_id int64, cluster_login text, alive bool
-- Campaigns that wait for a token of their user on cluster $1, who the user is there, and whether
-- they still want to run.
SELECT e.campaign_id, coalesce(cc.cluster_login, c.grid_user) AS cluster_login,
    c.state IN ('in_treatment', 'paused') AS alive
FROM events AS e
JOIN campaigns AS c ON c.id = e.campaign_id
LEFT JOIN campaign_clusters AS cc ON cc.campaign_id = c.id AND cc.cluster_id = $1
WHERE e.state = 'open' AND e.code = 'TOKEN_MISSING' AND e.cluster_id = $1;

-- name: OperatorNames
-- returns: name text
SELECT name FROM operators;

-- name: PutClusterToken
INSERT INTO users_mapping (grid_login, cluster_id, cluster_login, token, token_expires_at)
VALUES ($1, $2, $1, $3, to_timestamp($4::bigint))
ON CONFLICT (grid_login, cluster_id)
DO UPDATE SET token = excluded.token, token_expires_at = excluded.token_expires_at;

-- name: RemoveAffinity
-- returns: id int
DELETE FROM users_priority AS p USING clusters AS c
WHERE c.id = p.cluster_id AND p.grid_user = $1 AND c.name = $2
RETURNING p.id;

-- name: RemoveMapping
-- returns: id int
DELETE FROM users_mapping AS m USING clusters AS c
WHERE c.id = m.cluster_id AND m.grid_login = $1 AND c.name = $2
RETURNING m.id;

-- name: RemoveMember
-- returns: name text
DELETE FROM members WHERE kind = $1 AND name = $2 AND grid_user = $3 RETURNING name;

-- name: RemoveOperator
-- returns: name text
DELETE FROM operators WHERE name = $1 RETURNING name;

-- name: RevokeApiToken
-- returns: id int64
UPDATE api_tokens SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL RETURNING id;

-- name: RunOutApiToken
-- returns: grid_user text, days int?
-- Token $1 ends in $2 hours, if it does not before; how many days it was made for.
UPDATE api_tokens SET expires_at = least(expires_at, now() + $2::int * interval '1 hour')
WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
RETURNING grid_user, days;

-- name: SetAffinity
-- returns: id int
INSERT INTO users_priority (grid_user, cluster_id, priority)
SELECT $1, id, $3 FROM clusters WHERE name = $2
ON CONFLICT (grid_user, cluster_id) DO UPDATE SET priority = excluded.priority
RETURNING id;

-- name: SetMapping
-- returns: id int
INSERT INTO users_mapping (grid_login, cluster_id, cluster_login)
SELECT $1, id, $3 FROM clusters WHERE name = $2
ON CONFLICT (grid_login, cluster_id) DO UPDATE SET cluster_login = excluded.cluster_login
RETURNING id;

-- name: UserClusterToken
-- returns: token text
-- The valid token of user $2 (the name on the cluster) for cluster $1.
SELECT token FROM users_mapping
WHERE cluster_id = $1 AND cluster_login = $2 AND token IS NOT NULL
    AND (token_expires_at IS NULL OR token_expires_at > now())
ORDER BY id LIMIT 1;

-- name: UserOfApiToken
-- returns: grid_user text, id int64
-- Whose token has the hash $1, and which it is; notes that it is used, once a minute at most.
WITH found AS (
    SELECT id, grid_user, last_used_at
    FROM api_tokens
    WHERE hash = $1
      AND revoked_at IS NULL
      AND (expires_at IS NULL OR expires_at > now())
), noted AS (
    UPDATE api_tokens AS t SET last_used_at = now()
    FROM found
    WHERE t.id = found.id
      AND (found.last_used_at IS NULL OR found.last_used_at < now() - interval '1 minute')
)
SELECT grid_user, id FROM found;
