INSERT INTO users_mapping (grid_login, cluster_id, cluster_login, token, token_expires_at)
VALUES ($1, $2, $1, $3, to_timestamp($4::bigint))
ON CONFLICT (grid_login, cluster_id)
DO UPDATE SET token = excluded.token, token_expires_at = excluded.token_expires_at;
