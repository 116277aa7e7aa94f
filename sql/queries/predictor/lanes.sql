-- Every campaign at work on each of its clusters: what is known, what was predicted last, and the
-- number of fresh looks at the cluster. What may wait there has to last until the look after the next one.
SELECT cc.campaign_id, cc.cluster_id, cc.slots, k.job_ratio AS rule,
    k.queue_s + coalesce(k.min_round_s, CASE k.kind WHEN 'local' THEN 0 ELSE 5 END) AS queue_s,
    CASE k.kind WHEN 'local' THEN 0 ELSE 1 END AS resolution_s, coalesce(k.max_waiting, 2000) AS max_waiting,
    coalesce(s.sweeps, 0) AS sweeps, coalesce(g.max_resources, 0) AS max_resources,
    coalesce(g.free_resources, 0) AS free_resources,
    coalesce(n.submitted, 0) AS submitted, coalesce(n.waiting, 0) AS waiting, coalesce(n.running, 0) AS running,
    coalesce(n.ended, 0) AS ended, coalesce(n.mean_age_s, 0) AS mean_age_s,
    coalesce(l.n_ok, 0) AS n_ok, coalesce(l.sum_s, 0) AS sum_s, coalesce(l.sum_sq, 0) AS sum_sq, l.hist,
    coalesce(u.mean_slot_s, 0) AS mean_slot_s, f.job_ratio, f.rate
FROM campaigns AS c
JOIN campaign_clusters AS cc ON cc.campaign_id = c.id
JOIN clusters AS k ON k.id = cc.cluster_id
LEFT JOIN cluster_status AS s ON s.cluster_id = cc.cluster_id
LEFT JOIN LATERAL (
    SELECT max_resources, free_resources FROM gridstatus WHERE cluster_id = cc.cluster_id ORDER BY at DESC LIMIT 1
) AS g ON true
LEFT JOIN LATERAL (
    SELECT sum(m.n) FILTER (WHERE m.state = 'submitted') AS submitted,
        sum(m.n) FILTER (WHERE m.state = 'remote_waiting') AS waiting,
        sum(m.n) FILTER (WHERE m.state = 'running') AS running,
        sum(m.n) FILTER (WHERE m.state IN ('terminated', 'duplicate', 'event')) AS ended,
        extract(epoch FROM now()) - sum(m.sum_start) FILTER (WHERE m.state = 'running')
            / nullif(sum(m.slots) FILTER (WHERE m.state = 'running'), 0) AS mean_age_s
    FROM counters AS m
    WHERE m.campaign_id = cc.campaign_id AND m.cluster_id = cc.cluster_id AND m.kind IN ('task', 'replica', 'test')
) AS n ON true
LEFT JOIN lanes AS l ON l.campaign_id = cc.campaign_id AND l.cluster_id = cc.cluster_id
LEFT JOIN forecasts AS f ON f.campaign_id = cc.campaign_id AND f.cluster_id = cc.cluster_id
LEFT JOIN (
    SELECT cluster_id, sum(slot_s) / nullif(sum(ok + not_ok), 0) AS mean_slot_s
    FROM usage WHERE bucket >= now() - interval '5 minutes' GROUP BY cluster_id
) AS u ON u.cluster_id = cc.cluster_id
WHERE c.state IN ('in_treatment', 'paused')
ORDER BY cc.campaign_id, cc.cluster_id
