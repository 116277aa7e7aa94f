-- A limit of cluster $1 that a refusal has taught (the other one is NULL); never raised by us, a person
-- deletes the row.
INSERT INTO cluster_limits AS l (cluster_id, max_array, max_bytes, learnt_from) VALUES ($1, $2, $3, $4)
ON CONFLICT (cluster_id) DO UPDATE
SET max_array = least(l.max_array, excluded.max_array), max_bytes = least(l.max_bytes, excluded.max_bytes),
    learnt_from = excluded.learnt_from, learnt_at = now()
