-- The youngest running jobs of ours: possible victims of a preemption (GRID-32).
SELECT job_id, campaign_id, cluster_id, slots, extract(epoch FROM started_at) AS started_at
FROM live
WHERE state = 'running' AND started_at IS NOT NULL AND idx >= 0
    AND NOT EXISTS (SELECT FROM preemptions AS p WHERE p.job_id = live.job_id)
ORDER BY started_at DESC LIMIT 20000
