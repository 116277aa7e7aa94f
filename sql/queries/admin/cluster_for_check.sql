-- What a driver needs of cluster $1, and who user $2 is there.
SELECT c.id, c.name, c.kind, c.api_url, c.api_auth_type, c.api_username, c.api_password, c.api_auth_header,
    c.resource_unit, c.properties, c.options::text, coalesce(m.cluster_login, $2), c.token_command, c.api
FROM clusters AS c
LEFT JOIN users_mapping AS m ON m.cluster_id = c.id AND m.grid_login = $2
WHERE c.name = $1
