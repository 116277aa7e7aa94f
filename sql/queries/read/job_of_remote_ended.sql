-- The last of our jobs that cluster $1 (its name) called $2. Remote ids have no index (they are
-- re-issued, and 25 bytes a job are worth more than this question): it reads the whole table.
SELECT d.job_id FROM done AS d JOIN clusters AS cl ON cl.id = d.cluster_id
WHERE cl.name = $1 AND d.remote_id = $2 ORDER BY d.ended_at DESC LIMIT 1;
