-- Running jobs of remote clusters past their walltime and $1 (share of it) and $2 (seconds) of
-- slack; `local` enforces it itself. Only where the last sweep is fresh: nothing is killed on a
-- stale answer.
INSERT INTO kills (job_id, reason, detail)
SELECT l.job_id, 'walltime', 'walltime of ' || cc.walltime_s || ' s is over'
FROM live AS l
JOIN clusters AS c ON c.id = l.cluster_id AND c.kind <> 'local'
JOIN cluster_status AS s ON s.cluster_id = c.id AND s.swept_at > now() - interval '2 minutes'
JOIN campaign_clusters AS cc ON cc.campaign_id = l.campaign_id AND cc.cluster_id = l.cluster_id
WHERE l.state = 'running' AND l.idx >= 0
    AND l.started_at + (cc.walltime_s * (1 + $1::float8) + $2::float8) * interval '1 second' < now()
    AND NOT EXISTS (SELECT FROM kills AS k WHERE k.job_id = l.job_id)
ON CONFLICT DO NOTHING
