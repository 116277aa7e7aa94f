-- Each of these campaigns ($1) on each of its clusters. The ends that may show a sink only of those that look for
-- one ($2: all of them).
SELECT cc.campaign_id, cc.cluster_id, cc.slots, cc.max_jobs, cc.walltime_s, cc.test_mode,
    CASE WHEN l.proved OR cur.ntasks <= 10 THEN 0 ELSE coalesce(l.ended, 0) END AS tried,
    coalesce(f.job_ratio, 0) AS job_ratio, coalesce(l.proved, false) AS proved,
    coalesce(l.held_since IS NOT NULL, false) AS held, coalesce(e.code, '') AS blocked,
    cc.prologue IS NOT NULL AS has_prologue, coalesce(l.prologue, 'none') AS prologue,
    coalesce(p.priority, 0) AS affinity, coalesce(l.answered_test, false) AS answered_test,
    CASE WHEN l.n_ok > 0 THEN l.sum_s / l.n_ok ELSE 0 END AS mean_s, coalesce(l.n_ok, 0) AS n_ok, coalesce(f.p50_s, 0) AS p50_s,
    coalesce(f.waiting_allowed, 0) AS waiting_allowed, cc.options ->> 'start_rate' AS start_rate,
    CASE WHEN $2 OR c.jdl ? 'min_duration' THEN l.recent_s END AS recent_s,
    CASE WHEN l.killed_at > now() - interval '1 day' THEN coalesce(l.longest_killed_s, 0) END AS longest_killed_s
FROM campaign_clusters AS cc
JOIN campaigns AS c ON c.id = cc.campaign_id
JOIN campaign_cursor AS cur ON cur.campaign_id = c.id
LEFT JOIN lanes AS l ON l.campaign_id = cc.campaign_id AND l.cluster_id = cc.cluster_id
LEFT JOIN forecasts AS f ON f.campaign_id = cc.campaign_id AND f.cluster_id = cc.cluster_id
LEFT JOIN users_priority AS p ON p.grid_user = c.grid_user AND p.cluster_id = cc.cluster_id
LEFT JOIN (
    SELECT campaign_id, cluster_id, min(code) AS code FROM events
    WHERE state = 'open' AND code IN ('SUBMIT_REFUSED', 'TOKEN_MISSING', 'PROLOGUE_FAILED')
    GROUP BY campaign_id, cluster_id
) AS e ON e.campaign_id = cc.campaign_id AND e.cluster_id = cc.cluster_id
WHERE cc.campaign_id = ANY ($1::bigint[])
ORDER BY cc.campaign_id, cc.cluster_id
