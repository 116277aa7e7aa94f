-- The last snapshot of each enabled cluster's resources.
SELECT floor(extract(epoch FROM g.at))::bigint AS date, g.cluster_id, c.name AS cluster_name, g.max_resources,
       g.used_resources, g.used_by_cigri, g.unavailable_resources, g.jobs_running, g.jobs_waiting
FROM clusters AS c
CROSS JOIN LATERAL (SELECT * FROM gridstatus WHERE cluster_id = c.id ORDER BY at DESC LIMIT 1) AS g
WHERE c.enabled ORDER BY g.cluster_id;
