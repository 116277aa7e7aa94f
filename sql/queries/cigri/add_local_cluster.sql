-- The embedded cluster $1, whose daemon listens at $2. A row of that name and another kind is left alone.
INSERT INTO clusters AS c (name, kind, api_url, mode)
VALUES ($1, 'local', $2, 'open')
ON CONFLICT (name) DO UPDATE SET api_url = excluded.api_url, enabled = true WHERE c.kind = 'local'
RETURNING id
