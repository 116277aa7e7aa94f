-- The clusters as submission needs them, with the login of user $1 there and what is known of the moment.
SELECT c.id, c.name, c.kind, c.enabled, c.mode, c.drained, c.drain_reason, c.default_resources,
    c.resource_unit,
    coalesce(m.cluster_login, $1) AS cluster_login,
    c.api_auth_type = 'jwt' AND c.token_command IS NULL AND c.api_password IS NULL AS needs_token,
    m.token IS NOT NULL AS has_token, extract(epoch FROM m.token_expires_at - now())::float8 AS token_s,
    s.failing_since IS NOT NULL AS failing, g.max_resources, g.free_resources
FROM clusters AS c
LEFT JOIN users_mapping AS m ON m.cluster_id = c.id AND m.grid_login = $1
LEFT JOIN cluster_status AS s ON s.cluster_id = c.id
LEFT JOIN LATERAL (
    SELECT max_resources, free_resources
    FROM gridstatus
    WHERE cluster_id = c.id
    ORDER BY at DESC
    LIMIT 1
) AS g ON true
ORDER BY c.id;
