-- Kills that a condition asks for now, of jobs in flight that have none yet. The reason is kept here,
-- before any call. Looks only at campaigns with jobs in flight, found by steps through the index.
WITH RECURSIVE flying (id) AS (
    (SELECT min(campaign_id) FROM live)
    UNION ALL
    SELECT (SELECT min(campaign_id) FROM live WHERE campaign_id > flying.id) FROM flying WHERE flying.id IS NOT NULL
), campaign AS (
    SELECT c.id, c.wanted, c.max_replicas FROM flying JOIN campaigns AS c USING (id)
), wanted (job_id, reason, detail) AS (
    SELECT l.job_id, 'campaign_cancelled', NULL::text
    FROM campaign AS c JOIN live AS l ON l.campaign_id = c.id
    WHERE c.wanted = 'cancelled' AND l.kind <> 'epilogue'  -- it cleans up after a cancelled campaign too
    UNION ALL
    SELECT l.job_id, 'task_done', NULL
    FROM campaign AS c JOIN live AS l ON l.campaign_id = c.id
    JOIN done AS d ON d.campaign_id = l.campaign_id AND d.idx = l.idx AND d.counted
    WHERE c.max_replicas > 0 AND l.idx >= 0
    UNION ALL
    SELECT l.job_id, 'user', 'asked for by ' || q.asked_by FROM job_requests AS q JOIN live AS l USING (job_id)
    UNION ALL
    SELECT l.job_id, 'preempted_by_grid', p.why FROM preemptions AS p JOIN live AS l USING (job_id)
), chosen AS (
    SELECT DISTINCT ON (job_id) job_id, reason, detail FROM wanted
    WHERE NOT EXISTS (SELECT FROM kills AS k WHERE k.job_id = wanted.job_id)
    ORDER BY job_id, reason
)
INSERT INTO kills (job_id, reason, detail) SELECT job_id, reason, detail FROM chosen
ON CONFLICT DO NOTHING
