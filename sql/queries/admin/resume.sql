UPDATE clusters
SET drained = false, kill_all = false, drain_reason = NULL, drained_by = NULL, drained_at = NULL,
    drained_until = NULL
WHERE (drained OR kill_all) AND ($1::text IS NULL OR name = $1)
RETURNING name, id
