-- Our job that cluster $1 (its name) calls $2, among those in flight.
SELECT l.job_id FROM live AS l JOIN clusters AS cl ON cl.id = l.cluster_id
WHERE cl.name = $1 AND l.remote_id = $2 ORDER BY l.job_id DESC LIMIT 1;
