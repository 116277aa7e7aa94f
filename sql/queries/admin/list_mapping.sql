SELECT jsonb_build_object('user', m.grid_login, 'cluster', c.name, 'login', m.cluster_login,
    'token_set', m.token IS NOT NULL, 'token_expires_at', m.token_expires_at)
FROM users_mapping AS m JOIN clusters AS c ON c.id = m.cluster_id
ORDER BY m.grid_login, c.name
