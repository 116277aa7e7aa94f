-- Nobody knows whether the cluster has taken it: to be looked up by its tag.
UPDATE batches
SET state = 'in_doubt', doubtful_since = now(), next_look_at = now(), error = $2
WHERE id = $1 AND state = 'intended'
