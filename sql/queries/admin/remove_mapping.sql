DELETE FROM users_mapping AS m USING clusters AS c
WHERE c.id = m.cluster_id AND m.grid_login = $1 AND c.name = $2
RETURNING m.id
