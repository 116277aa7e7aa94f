INSERT INTO clusters (name, kind, api_url, mode)
VALUES ($1, $2, $3, (CASE WHEN $2 = 'local' THEN 'open' ELSE 'observe' END)::cluster_mode)
RETURNING id
