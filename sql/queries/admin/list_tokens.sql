SELECT to_jsonb(t) - 'hash' FROM api_tokens AS t WHERE revoked_at IS NULL ORDER BY grid_user, id
