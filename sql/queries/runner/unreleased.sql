-- Recorded batches of cluster $1 that are still on hold there.
SELECT b.id, b.tag, b.campaign_id, b.first_job_id, array_agg(l.remote_id ORDER BY l.element) AS remote_ids
FROM batches AS b JOIN live AS l ON l.batch_id = b.id AND l.job_id BETWEEN b.first_job_id AND b.first_job_id + b.n - 1
WHERE b.cluster_id = $1 AND b.state = 'recorded' AND NOT b.released
GROUP BY b.id
