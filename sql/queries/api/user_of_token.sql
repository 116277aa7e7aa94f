-- Whose token has the hash $1.
SELECT grid_user
FROM api_tokens
WHERE hash = $1
  AND revoked_at IS NULL
  AND (expires_at IS NULL OR expires_at > now());
