-- The calls for jobs $1 are about to be made: committed before them.
UPDATE kills SET called_at = now(), calls = calls + 1 WHERE job_id = ANY ($1::bigint[])
