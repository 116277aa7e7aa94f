-- Every cluster with its last snapshot, its health and what is ours there now.
SELECT k.id, k.name, k.kind, k.power, k.enabled, k.mode::text, k.mode_limit, k.max_running, k.hours,
    k.drained OR k.kill_all OR e.message IS NOT NULL AS drained, coalesce(k.drain_reason, e.message, '') AS drain_reason,
    k.queue_s + coalesce(k.min_round_s, CASE k.kind WHEN 'local' THEN 0 ELSE 5 END) AS queue_s,
    coalesce(k.max_waiting, 2000) AS max_waiting,
    k.stress_limit, coalesce(g.max_resources, 0) AS max_resources, coalesce(g.free_resources, 0) AS free_resources,
    coalesce(g.used_by_cigri, 0) AS used_by_cigri, coalesce(s.stress, 0) AS stress,
    s.failing_since IS NOT NULL AS failing, coalesce(s.error, '') AS error,
    coalesce(extract(epoch FROM now() - s.answered_at), 1e9) AS age_s, coalesce(s.try_again_at > now(), false) AS broken,
    -- 0: nothing has ended lately. Where times are whole seconds, a short job seems to take none.
    CASE WHEN u.mean_slot_s IS NULL THEN 0 WHEN k.kind = 'local' THEN u.mean_slot_s ELSE greatest(u.mean_slot_s, 1) END
        AS mean_slot_s
FROM clusters AS k
LEFT JOIN cluster_status AS s ON s.cluster_id = k.id
LEFT JOIN LATERAL (
    SELECT max_resources, free_resources, used_by_cigri FROM gridstatus
    WHERE cluster_id = k.id ORDER BY at DESC LIMIT 1
) AS g ON true
LEFT JOIN (
    SELECT cluster_id, sum(slot_s) / nullif(sum(ok + not_ok), 0) AS mean_slot_s
    FROM usage WHERE bucket >= now() - interval '5 minutes' GROUP BY cluster_id
) AS u ON u.cluster_id = k.id
LEFT JOIN LATERAL (
    SELECT message FROM events WHERE state = 'open' AND campaign_id IS NULL AND cluster_id = k.id
        AND code = 'CLUSTER_MANUALLY_DISABLED' LIMIT 1
) AS e ON true
ORDER BY k.id
