-- The end of a batch none of whose jobs is on the cluster: refused or void.
UPDATE batches SET state = $2::batch_state, error = $3, doubtful_since = NULL
WHERE id = $1 AND state IN ('intended', 'in_doubt')
