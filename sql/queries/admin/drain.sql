-- The claim reads this row FOR SHARE: what comes after this statement's commit claims nothing, and
-- what was before it is in `batches`. An existing order to kill stays.
UPDATE clusters
SET drained = true, kill_all = kill_all OR $2, drain_reason = $3, drained_by = $4, drained_at = now(),
    drained_until = $5::timestamptz
WHERE $1::text IS NULL OR name = $1
RETURNING id, name
