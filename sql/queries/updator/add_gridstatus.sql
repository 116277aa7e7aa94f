INSERT INTO gridstatus (cluster_id, max_resources, free_resources, used_resources, unavailable_resources,
    used_by_cigri, jobs_running, jobs_waiting, stress, note)
VALUES ($1, $2, $3, $4, $5, (SELECT coalesce(sum(slots), 0) FROM live WHERE cluster_id = $1 AND state = 'running'),
    $6, $7, $8, $9)
ON CONFLICT DO NOTHING
