-- Copies of our jobs (see `twins`) whose next call is due, as kills are (due.sql).
SELECT t.cluster_id, t.remote_id, t.tag, t.element, t.cluster_user
FROM twins AS t LEFT JOIN cluster_status AS s ON s.cluster_id = t.cluster_id
WHERE (t.called_at IS NULL
       OR t.called_at + least($1::float8 * 2 ^ (least(t.calls, 20) - 1), $2) * interval '1 second' <= now())
    AND (s.try_again_at IS NULL OR s.try_again_at <= now())
ORDER BY t.cluster_id, t.calls, t.remote_id
LIMIT 1000
