-- The batch that job $1 was or will be sent in, and the task it is an attempt of.
SELECT b.id, b.campaign_id, b.cluster_id, cl.name AS cluster, b.kind, b.state, b.tag, b.slots,
       ($1 - b.first_job_id)::int AS element, b.error, extract(epoch FROM b.created_at) AS created,
       CASE WHEN b.idxs IS NOT NULL THEN b.idxs[$1 - b.first_job_id + 1]
            WHEN b.first_idx IS NOT NULL THEN b.first_idx + $1 - b.first_job_id
            ELSE -1 END AS idx,
       c.grid_user, c.first_task_id, cc.cluster_login, cc.walltime_s, cc.resources, cc.best_effort,
       cc.exec_directory
FROM (SELECT * FROM batches WHERE first_job_id <= $1 ORDER BY first_job_id DESC LIMIT 1) AS b
JOIN campaigns AS c ON c.id = b.campaign_id
JOIN clusters AS cl ON cl.id = b.cluster_id
LEFT JOIN campaign_clusters AS cc ON cc.campaign_id = b.campaign_id AND cc.cluster_id = b.cluster_id
WHERE $1 < b.first_job_id + b.n;
