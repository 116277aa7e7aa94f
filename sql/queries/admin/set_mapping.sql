INSERT INTO users_mapping (grid_login, cluster_id, cluster_login)
SELECT $1, id, $3 FROM clusters WHERE name = $2
ON CONFLICT (grid_login, cluster_id) DO UPDATE SET cluster_login = excluded.cluster_login
RETURNING id
