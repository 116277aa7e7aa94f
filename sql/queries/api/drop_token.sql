UPDATE users_mapping SET token = NULL, token_expires_at = NULL
WHERE grid_login = $1 AND cluster_id = $2 AND token IS NOT NULL;
