-- Each of these campaigns ($1) on each of its clusters.
SELECT cc.campaign_id, cc.cluster_id, cc.slots, cc.max_jobs, cc.walltime_s, cc.prologue IS NOT NULL AS has_prologue,
    cc.test_mode,
    coalesce(l.proved, false) AS proved, coalesce(l.held_since IS NOT NULL, false) AS held,
    coalesce(l.held_why, '') AS held_why, coalesce(l.probation_until > now(), false) AS probation,
    coalesce(l.prologue, 'none') AS prologue,
    CASE WHEN l.proved OR cur.ntasks <= 10 THEN 0 ELSE coalesce(l.ended, 0) END AS tried,
    coalesce(l.answered_test, false) AS answered_test,
    coalesce(l.n_ok, 0) AS n_ok, coalesce(l.sum_s, 0) AS sum_s,
    coalesce(f.job_ratio, 0) AS job_ratio, coalesce(p.priority, 0) AS affinity, coalesce(e.code, '') AS blocked
FROM campaign_clusters AS cc
JOIN campaigns AS c ON c.id = cc.campaign_id
JOIN campaign_cursor AS cur ON cur.campaign_id = c.id
LEFT JOIN lanes AS l ON l.campaign_id = cc.campaign_id AND l.cluster_id = cc.cluster_id
LEFT JOIN forecasts AS f ON f.campaign_id = cc.campaign_id AND f.cluster_id = cc.cluster_id
LEFT JOIN users_priority AS p ON p.grid_user = c.grid_user AND p.cluster_id = cc.cluster_id
LEFT JOIN LATERAL (
    SELECT code FROM events WHERE campaign_id = cc.campaign_id AND cluster_id = cc.cluster_id AND state = 'open'
        AND code IN ('SUBMIT_REFUSED', 'TOKEN_MISSING', 'PROLOGUE_FAILED') LIMIT 1
) AS e ON true
WHERE cc.campaign_id = ANY ($1::bigint[])
ORDER BY cc.campaign_id, cc.cluster_id
