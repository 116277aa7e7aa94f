-- A limit of cluster $1 that a refusal has taught; never raised by us, a person deletes the row.
INSERT INTO cluster_limits AS l (cluster_id, max_array, learnt_from) VALUES ($1, $2, $3)
ON CONFLICT (cluster_id) DO UPDATE SET max_array = least(l.max_array, excluded.max_array), learnt_from = excluded.learnt_from, learnt_at = now()
