-- Jobs in flight on clusters that an operator has given up since they were sent (gridadmin cluster lost).
SELECT l.job_id FROM clusters AS k JOIN live AS l ON l.cluster_id = k.id
WHERE k.lost_at IS NOT NULL AND l.submitted_at < k.lost_at
