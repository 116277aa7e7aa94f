-- Whose job $1 is, and whether it may still run: on its cluster, or on its way there.
SELECT c.grid_user,
    EXISTS (SELECT FROM live WHERE job_id = $1) OR b.state IN ('intended', 'in_doubt') AS alive
FROM batches AS b
JOIN campaigns AS c ON c.id = b.campaign_id
WHERE b.id = (SELECT id FROM batches WHERE first_job_id <= $1 ORDER BY first_job_id DESC LIMIT 1)
    AND $1 < b.first_job_id + b.n;
