INSERT INTO api_tokens (grid_user, hash, prefix, created_by, expires_at)
VALUES ($1, $2, $3, $4, now() + $5::int * interval '1 day')
RETURNING to_jsonb(api_tokens) - 'hash'
