-- The youngest running jobs of ours: possible victims of a preemption (GRID-32), and those that are being
-- cancelled already, with whom for.
SELECT l.job_id, l.campaign_id, l.cluster_id, l.slots, extract(epoch FROM l.started_at) AS started_at,
    coalesce(p.for_campaign, 0) AS for_campaign
FROM live AS l LEFT JOIN preemptions AS p ON p.job_id = l.job_id
WHERE l.state = 'running' AND l.started_at IS NOT NULL AND l.idx >= 0
ORDER BY p.job_id IS NULL, l.started_at DESC LIMIT 20000
