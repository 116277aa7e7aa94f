-- Every cluster with how it does, for `cigri status` and `cigri doctor`.
SELECT c.name, c.kind, c.api_url, c.enabled, c.mode, c.mode_limit, c.drained, c.drain_reason,
       extract(epoch FROM now() - s.swept_at) AS swept_s, s.error,
       extract(epoch FROM now() - s.failing_since) AS failing_s, s.clock_skew_s
FROM clusters AS c LEFT JOIN cluster_status AS s ON s.cluster_id = c.id
ORDER BY c.name
