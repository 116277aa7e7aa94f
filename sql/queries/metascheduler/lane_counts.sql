-- Jobs of these campaigns ($1) ever claimed on each cluster, and those killed there for the cluster's own users.
SELECT campaign_id, cluster_id, coalesce(sum(n) FILTER (WHERE state <> 'preemption'), 0) AS started,
    coalesce(sum(n) FILTER (WHERE state = 'preemption'), 0) AS kills
FROM counters
WHERE campaign_id = ANY ($1::bigint[]) AND kind <> 'epilogue' AND state IN ('launching', 'submitted', 'remote_waiting',
    'running', 'terminated', 'duplicate', 'event', 'preemption')
GROUP BY 1, 2
