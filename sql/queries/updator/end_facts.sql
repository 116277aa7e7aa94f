-- What booking the ends of jobs $1 that did not simply succeed asks for.
SELECT l.job_id, l.campaign_id, l.cluster_id, l.idx, l.kind::text, l.attempt, coalesce(k.reason, '') AS kill_reason,
    coalesce(k.detail, '') AS kill_detail, c.type = 'test' AS test_campaign, c.max_tries,
    coalesce(t.program, 0) AS program, coalesce(t.again, 0) AS again, coalesce(t.free, 0) AS free,
    CASE WHEN t.last_cluster = l.cluster_id THEN t.free_here ELSE 0 END AS free_here,
    (SELECT count(*) > 1 FROM campaign_clusters AS cc WHERE cc.campaign_id = l.campaign_id) AS other_clusters,
    EXISTS (SELECT FROM live AS o WHERE o.campaign_id = l.campaign_id AND o.idx = l.idx AND l.idx >= 0
        AND o.job_id <> ALL ($1::bigint[])) AS other_copy,
    EXISTS (SELECT FROM done AS d WHERE d.campaign_id = l.campaign_id AND d.idx = l.idx AND d.counted) AS counted,
    coalesce(split_part(cc.exec_file, ' ', 1), '') AS program_file, coalesce(nullif(cc.exec_directory, ''), '$HOME') AS directory,
    coalesce(n.proved, false) AS proved
FROM live AS l
JOIN campaigns AS c ON c.id = l.campaign_id
LEFT JOIN campaign_clusters AS cc ON cc.campaign_id = l.campaign_id AND cc.cluster_id = l.cluster_id
LEFT JOIN lanes AS n ON n.campaign_id = l.campaign_id AND n.cluster_id = l.cluster_id
LEFT JOIN kills AS k ON k.job_id = l.job_id
LEFT JOIN tries AS t ON t.campaign_id = l.campaign_id AND t.idx = l.idx
WHERE l.job_id = ANY ($1::bigint[])
