-- Campaign $1 on each of its clusters: what is in flight, what is known, what is foreseen.
SELECT cl.id, cl.name, cl.kind, cl.mode, cl.enabled, cl.drained, cl.drain_reason, cl.drained_by,
       extract(epoch FROM cl.drained_until) AS drained_until,
       cc.slots, cc.walltime_s, cc.max_jobs, cc.prologue IS NOT NULL AS has_prologue,
       cc.epilogue IS NOT NULL AS has_epilogue,
       coalesce(l.prologue, 'none') AS prologue, coalesce(l.epilogue, 'none') AS epilogue,
       coalesce(l.proved, false) AS proved, l.held_why, extract(epoch FROM l.held_since) AS held_since,
       extract(epoch FROM l.probation_until) AS probation_until,
       coalesce(l.n_ok, 0) AS n_ok, coalesce(l.sum_s, 0) AS sum_s, coalesce(l.sum_sq, 0) AS sum_sq,
       l.min_s, l.max_s, extract(epoch FROM l.first_start) AS first_start,
       extract(epoch FROM l.last_end) AS last_end,
       f.job_ratio, f.rate, f.p50_s, f.p90_s, f.p99_s, f.waiting_allowed,
       st.error, extract(epoch FROM st.failing_since) AS failing_since,
       extract(epoch FROM now() - st.swept_at) AS swept_ago, coalesce(st.stress, 0) AS stress,
       cl.stress_limit, coalesce(g.n, 0) AS granted,
       q.n AS silent, q.longest_s AS silent_s,
       n.done, n.launching, n.submitted, n.remote_waiting, n.running, n.ended_badly, n.preempted
FROM campaign_clusters AS cc
JOIN clusters AS cl ON cl.id = cc.cluster_id
LEFT JOIN lanes AS l ON l.campaign_id = cc.campaign_id AND l.cluster_id = cc.cluster_id
LEFT JOIN forecasts AS f ON f.campaign_id = cc.campaign_id AND f.cluster_id = cc.cluster_id
LEFT JOIN cluster_status AS st ON st.cluster_id = cc.cluster_id
CROSS JOIN LATERAL (
    SELECT coalesce(sum(k.n) FILTER (WHERE state = 'terminated'), 0)::bigint AS done,
           coalesce(sum(k.n) FILTER (WHERE state = 'launching'), 0)::bigint AS launching,
           coalesce(sum(k.n) FILTER (WHERE state = 'submitted'), 0)::bigint AS submitted,
           coalesce(sum(k.n) FILTER (WHERE state = 'remote_waiting'), 0)::bigint AS remote_waiting,
           coalesce(sum(k.n) FILTER (WHERE state = 'running'), 0)::bigint AS running,
           coalesce(sum(k.n) FILTER (WHERE state = 'event'), 0)::bigint AS ended_badly,
           coalesce(sum(k.n) FILTER (WHERE state = 'preemption'), 0)::bigint AS preempted
    FROM counters AS k
    WHERE k.campaign_id = cc.campaign_id AND k.cluster_id = cc.cluster_id
      AND k.kind IN ('task', 'replica', 'test')
) AS n
CROSS JOIN LATERAL (
    SELECT sum(n) AS n FROM grants WHERE campaign_id = cc.campaign_id AND cluster_id = cc.cluster_id
) AS g
CROSS JOIN LATERAL (
    SELECT count(*) AS n, extract(epoch FROM now() - min(s.since)) AS longest_s
    FROM silent_jobs AS s JOIN live AS l USING (job_id)
    WHERE s.cluster_id = cc.cluster_id AND l.campaign_id = cc.campaign_id
) AS q
WHERE cc.campaign_id = $1
ORDER BY cl.id;
