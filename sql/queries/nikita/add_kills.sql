-- Kills of the jobs $1 for the reason $2, as far as they are still in flight.
INSERT INTO kills (job_id, reason, detail)
SELECT l.job_id, $2, $3 FROM live AS l WHERE l.job_id = ANY ($1::bigint[])
ON CONFLICT DO NOTHING
