DELETE FROM users_priority AS p USING clusters AS c
WHERE c.id = p.cluster_id AND p.grid_user = $1 AND c.name = $2
RETURNING p.id
