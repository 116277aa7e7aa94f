-- Every job in flight on a cluster that an operator empties (`drain --kill`).
INSERT INTO kills (job_id, reason, detail)
SELECT l.job_id, 'drain', c.drain_reason
FROM clusters AS c JOIN live AS l ON l.cluster_id = c.id
WHERE c.kill_all AND NOT EXISTS (SELECT FROM kills AS k WHERE k.job_id = l.job_id)
ON CONFLICT DO NOTHING
