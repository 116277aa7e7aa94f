-- Snapshots of every cluster's resources between $1 and $2 (epoch seconds), oldest first; at most 100,000.
SELECT floor(extract(epoch FROM g.at))::bigint AS date, g.cluster_id, c.name AS cluster_name, g.max_resources,
       g.used_resources, g.used_by_cigri, g.unavailable_resources, g.jobs_running, g.jobs_waiting
FROM gridstatus AS g JOIN clusters AS c ON c.id = g.cluster_id
WHERE g.at BETWEEN to_timestamp($1) AND to_timestamp($2)
ORDER BY g.at, g.cluster_id LIMIT 100000;
