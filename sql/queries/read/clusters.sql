-- Clusters with all that is known of them: number $1 or name $2 (NULL: all), disabled ones only when $3.
SELECT c.id, c.name, c.kind, c.api_url, c.api_group, c.api_auth_type, c.api_auth_header, c.ssh_host,
       c.resource_unit, c.power, c.properties, c.default_resources, c.options, c.enabled, c.mode,
       c.mode_limit, c.job_ratio, c.queue_s, c.max_waiting, c.keep_waiting, c.max_running,
       c.max_calls_per_min, c.hours, c.min_round_s, c.waiting_timeout_s, c.stress_limit,
       c.drained, c.kill_all, c.drain_reason, c.drained_by, c.drained_at, c.drained_until, c.created_at,
       coalesce(s.stress, 0) AS stress, s.error, s.failures, 
       CASE WHEN c.kind = 'local' THEN coalesce(s.calls_per_min, 0) ELSE coalesce(a.calls, 0) END AS calls_per_min,
       a.by_module AS calls_by, p.probation, extract(epoch FROM p.shut_until - now()) AS shut_for,
       (SELECT jsonb_agg(jsonb_build_object('campaign', w.campaign_id, 'jobs', w.n) ORDER BY w.campaign_id)
        FROM would_send AS w WHERE w.cluster_id = c.id AND c.mode = 'observe') AS would_send,
       s.clock_skew_s, extract(epoch FROM now() - s.swept_at) AS swept_ago,
       extract(epoch FROM now() - s.failing_since) AS failing_for,
       extract(epoch FROM s.try_again_at - now()) AS try_again_in,
       l.max_array, l.max_bytes, l.learnt_from,
       g.max_resources, g.free_resources, g.used_resources, g.unavailable_resources, g.used_by_cigri,
       g.jobs_running, g.jobs_waiting, g.note, extract(epoch FROM g.at) AS seen_at,
       EXISTS (SELECT FROM events AS e WHERE e.cluster_id = c.id AND e.campaign_id IS NULL AND e.state = 'open'
               AND e.code = 'CLUSTER_MANUALLY_DISABLED') AS disabled_by_hand
FROM clusters AS c
LEFT JOIN cluster_status AS s ON s.cluster_id = c.id
LEFT JOIN api_load AS p ON p.api = c.api
LEFT JOIN LATERAL (
    SELECT sum(m.n) AS calls, jsonb_object_agg(m.module, m.n) AS by_module
    FROM (SELECT module, sum(n) AS n FROM api_calls WHERE cluster_id = c.id AND slice > now() - interval '1 minute'
          GROUP BY module) AS m
) AS a ON true
LEFT JOIN cluster_limits AS l ON l.cluster_id = c.id
LEFT JOIN LATERAL (
    SELECT * FROM gridstatus AS g WHERE g.cluster_id = c.id ORDER BY at DESC LIMIT 1
) AS g ON true
WHERE ($1::int IS NULL OR c.id = $1) AND ($2::text IS NULL OR c.name = $2) AND ($3 OR c.enabled)
ORDER BY c.id;
