-- Recorded batches of cluster $1 that are still on hold there: not released yet, or seen on hold again (again).
WITH told AS (
    DELETE FROM still_held WHERE cluster_id = $1 RETURNING batch_id
), held AS (
    SELECT id, false AS again FROM batches WHERE cluster_id = $1 AND state = 'recorded' AND NOT released
    UNION
    SELECT batch_id, true FROM told
)
SELECT b.id, b.tag, b.campaign_id, b.first_job_id, bool_and(h.again) AS again,
    array_agg(l.remote_id ORDER BY l.element) AS remote_ids
FROM held AS h JOIN batches AS b ON b.id = h.id
JOIN live AS l ON l.batch_id = b.id AND l.job_id BETWEEN b.first_job_id AND b.first_job_id + b.n - 1
GROUP BY b.id
