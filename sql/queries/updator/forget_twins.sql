-- Copies on cluster $1 that are not there any more: all but $2.
DELETE FROM twins WHERE cluster_id = $1 AND remote_id <> ALL ($2::text[])
