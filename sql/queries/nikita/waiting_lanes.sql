-- Jobs of ours that wait in the queues of clusters seen lately, by campaign and cluster, newest
-- first, with how many may wait there (CIG-36, CIG-50) and for how long.
SELECT l.campaign_id, l.cluster_id, c.keep_waiting, c.waiting_timeout_s, f.waiting_allowed,
       EXISTS (SELECT FROM campaign_clusters AS o JOIN clusters AS oc ON oc.id = o.cluster_id
               WHERE o.campaign_id = l.campaign_id AND o.cluster_id <> l.cluster_id AND oc.enabled
                   AND NOT oc.drained) AS elsewhere,
       array_agg(l.job_id ORDER BY l.submitted_at DESC, l.job_id DESC) AS jobs,
       array_agg(extract(epoch FROM now() - l.submitted_at)::bigint ORDER BY l.submitted_at DESC, l.job_id DESC) AS ages
FROM live AS l
JOIN clusters AS c ON c.id = l.cluster_id
JOIN cluster_status AS s ON s.cluster_id = c.id AND s.swept_at > now() - interval '2 minutes'
LEFT JOIN forecasts AS f ON f.campaign_id = l.campaign_id AND f.cluster_id = l.cluster_id
WHERE l.state = 'remote_waiting' AND l.idx >= 0
    AND NOT EXISTS (SELECT FROM kills AS k WHERE k.job_id = l.job_id)
GROUP BY 1, 2, 3, 4, 5, 6
