-- Jobs that run much longer than those of their campaign that have ended (TECH-12), with no other copy, by the
-- cluster where they are; `copies`: their campaign wants copies of them, and they have not used theirs up.
SELECT l.campaign_id, l.cluster_id, c.max_replicas > 0 AS copies, f.overdue_s, count(*) AS n
FROM forecasts AS f
JOIN campaigns AS c ON c.id = f.campaign_id AND c.state = 'in_treatment' AND c.wanted = 'in_treatment'
JOIN live AS l ON l.campaign_id = f.campaign_id AND l.state = 'running' AND l.kind IN ('task', 'replica')
    AND l.started_at < now() - f.overdue_s * interval '1 second'
WHERE f.cluster_id = 0 AND f.overdue_s IS NOT NULL
    AND NOT EXISTS (SELECT FROM live AS o WHERE o.campaign_id = l.campaign_id AND o.idx = l.idx AND o.job_id <> l.job_id)
    AND NOT EXISTS (SELECT FROM done AS d WHERE d.campaign_id = l.campaign_id AND d.idx = l.idx AND d.counted)
    AND (c.max_replicas = 0 OR (
        SELECT count(*) FILTER (WHERE b.account = 'program') < c.max_replicas AND count(*) < 10 + c.max_replicas
        FROM done AS b WHERE b.campaign_id = l.campaign_id AND b.idx = l.idx AND NOT b.counted AND b.kind = 'replica'))
GROUP BY 1, 2, 3, 4
