-- Every cluster with its last snapshot, its health and what is ours there now.
SELECT k.id, k.name, k.kind, k.power, k.enabled, k.mode::text, k.mode_limit, k.max_running, k.hours,
    k.drained OR k.kill_all OR e.message IS NOT NULL AS drained, coalesce(k.drain_reason, e.message, '') AS drain_reason,
    k.stress_limit, coalesce(g.max_resources, 0) AS max_resources, coalesce(g.free_resources, 0) AS free_resources,
    coalesce(g.used_by_cigri, 0) AS used_by_cigri, coalesce(s.stress, 0) AS stress,
    s.failing_since IS NOT NULL AS failing, coalesce(s.error, '') AS error,
    coalesce(extract(epoch FROM now() - s.answered_at), 1e9) AS age_s, coalesce(s.try_again_at > now(), false) AS broken
FROM clusters AS k
LEFT JOIN cluster_status AS s ON s.cluster_id = k.id
LEFT JOIN LATERAL (
    SELECT max_resources, free_resources, used_by_cigri FROM gridstatus
    WHERE cluster_id = k.id ORDER BY at DESC LIMIT 1
) AS g ON true
LEFT JOIN LATERAL (
    SELECT message FROM events WHERE state = 'open' AND campaign_id IS NULL AND cluster_id = k.id
        AND code = 'CLUSTER_MANUALLY_DISABLED' LIMIT 1
) AS e ON true
ORDER BY k.id
