-- Campaigns that may be given something.
SELECT c.id, c.grid_user, c.project, c.type, c.priority, coalesce(c.sla_group, '') AS sla_group,
    extract(epoch FROM c.submission_time) AS submitted_at, c.max_replicas, c.finishing_since IS NOT NULL AS finishing,
    cur.ntasks - cur.next_idx + coalesce(r.n, 0) AS waiting, coalesce(d.n, 0) AS done, c.jdl ->> 'class' AS class,
    c.jdl ->> 'affinity_wait' AS affinity_wait, c.jdl -> 'licences' AS licences
FROM campaigns AS c
JOIN campaign_cursor AS cur ON cur.campaign_id = c.id
LEFT JOIN (
    SELECT campaign_id, count(*) AS n FROM retry WHERE not_before <= now() GROUP BY campaign_id
) AS r ON r.campaign_id = c.id
LEFT JOIN (
    SELECT campaign_id, sum(n) AS n FROM counters WHERE state = 'terminated' GROUP BY campaign_id
) AS d ON d.campaign_id = c.id
WHERE c.state = 'in_treatment' AND c.wanted = 'in_treatment'
ORDER BY c.id
