SELECT token, token_expires_at FROM users_mapping
WHERE cluster_id = $1 AND cluster_login = $2 AND token IS NOT NULL
    AND (token_expires_at IS NULL OR token_expires_at > now())
ORDER BY id LIMIT 1
