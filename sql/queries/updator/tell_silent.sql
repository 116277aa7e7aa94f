-- Jobs $2 are all that give no sign on cluster $1, each for $3 seconds.
WITH others AS (
    DELETE FROM silent_jobs WHERE cluster_id = $1 AND job_id <> ALL ($2::bigint[])
)
INSERT INTO silent_jobs (job_id, cluster_id, since)
SELECT s.job_id, $1, now() - s.age * interval '1 second'
FROM unnest($2::bigint[], $3::float8[]) AS s (job_id, age)
ON CONFLICT DO NOTHING
