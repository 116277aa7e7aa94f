SELECT jsonb_build_object('user', p.grid_user, 'cluster', c.name, 'priority', p.priority)
FROM users_priority AS p JOIN clusters AS c ON c.id = p.cluster_id
ORDER BY p.grid_user, c.name
