SELECT m.cluster_id, c.name, m.token, extract(epoch FROM m.token_expires_at)::bigint AS expires
FROM users_mapping AS m
JOIN clusters AS c ON c.id = m.cluster_id
WHERE m.grid_login = $1 AND m.token IS NOT NULL
ORDER BY m.cluster_id;
