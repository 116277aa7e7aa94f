-- Clusters where something of the cancelled campaign $1 is still in flight, epilogues excepted;
-- overdue: its kill was asked for, or its batch sent, more than $2 seconds ago.
SELECT cluster_id, bool_or(coalesce(asked_at < now() - $2 * interval '1 second', false)) AS overdue
FROM (
    SELECT l.cluster_id, k.asked_at
    FROM live AS l LEFT JOIN kills AS k USING (job_id)
    WHERE l.campaign_id = $1 AND l.kind <> 'epilogue'
    UNION ALL
    SELECT cluster_id, created_at FROM batches
    WHERE campaign_id = $1 AND state IN ('intended', 'in_doubt') AND kind <> 'epilogue'
) AS f
GROUP BY cluster_id
