-- Ends the drains whose operator said until when.
UPDATE clusters
SET drained = false, kill_all = false, drain_reason = NULL, drained_by = NULL, drained_at = NULL,
    drained_until = NULL
WHERE drained_until <= now()
RETURNING id
