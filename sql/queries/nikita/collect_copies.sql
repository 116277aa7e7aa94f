-- Copies of tasks that are done, in campaigns without replicas: a lost job that was found again.
INSERT INTO kills (job_id, reason)
SELECT l.job_id, 'task_done'
FROM live AS l JOIN done AS d ON d.campaign_id = l.campaign_id AND d.idx = l.idx AND d.counted
WHERE l.idx >= 0 AND NOT EXISTS (SELECT FROM kills AS k WHERE k.job_id = l.job_id)
ON CONFLICT DO NOTHING
