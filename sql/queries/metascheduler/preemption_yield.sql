-- What cancelling jobs for others has brought in the last hour, by campaign: jobs and slots, work lost, slots that are
-- free by now, and those of its own jobs that started on these clusters since (at most as many as were freed).
WITH p AS (
    SELECT p.*, NOT EXISTS (SELECT FROM live AS l WHERE l.job_id = p.job_id) AS freed FROM preemptions AS p
    WHERE p.at > now() - interval '1 hour'
), by_cluster AS (
    SELECT for_campaign, cluster_id, count(*) AS jobs, sum(slots) AS slots, sum(lost_s) AS lost_s,
        coalesce(sum(slots) FILTER (WHERE freed), 0) AS freed, min(at) AS since
    FROM p GROUP BY 1, 2
)
SELECT b.for_campaign, sum(b.jobs) AS jobs, sum(b.slots) AS slots, sum(b.lost_s) AS lost_s, sum(b.freed) AS freed,
    sum(least(b.freed, g.slots)) AS got
FROM by_cluster AS b
CROSS JOIN LATERAL (
    SELECT coalesce((SELECT sum(l.slots) FROM live AS l
            WHERE l.campaign_id = b.for_campaign AND l.cluster_id = b.cluster_id AND l.started_at >= b.since), 0)
        + coalesce((SELECT sum(d.slots) FROM done AS d
            WHERE d.campaign_id = b.for_campaign AND d.cluster_id = b.cluster_id AND d.started_at >= b.since), 0) AS slots
) AS g
GROUP BY 1
