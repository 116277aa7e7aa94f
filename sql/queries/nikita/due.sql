-- Kills whose next call is due, of clusters that are to be asked at all now: called never, or
-- so long ago that their end should have been seen ($1 s, doubled by each call up to $2).
SELECT k.job_id, k.calls, l.remote_id, l.element, l.cluster_id, b.tag, coalesce(cc.cluster_login, '') AS cluster_user,
       coalesce(cc.walltime_s, 0) AS walltime_s
FROM kills AS k
JOIN live AS l USING (job_id)
JOIN batches AS b ON b.id = l.batch_id
LEFT JOIN campaign_clusters AS cc ON cc.campaign_id = l.campaign_id AND cc.cluster_id = l.cluster_id
LEFT JOIN cluster_status AS s ON s.cluster_id = l.cluster_id
WHERE (k.called_at IS NULL
       OR k.called_at + least($1::float8 * 2 ^ (least(k.calls, 20) - 1), $2) * interval '1 second' <= now())
    AND (s.try_again_at IS NULL OR s.try_again_at <= now())
ORDER BY l.cluster_id, k.calls, k.job_id
LIMIT 5000
