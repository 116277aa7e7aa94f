INSERT INTO users_priority (grid_user, cluster_id, priority)
SELECT $1, id, $3 FROM clusters WHERE name = $2
ON CONFLICT (grid_user, cluster_id) DO UPDATE SET priority = excluded.priority
RETURNING id
