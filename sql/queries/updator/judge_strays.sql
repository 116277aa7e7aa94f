-- What each job with our tag on cluster $1 is ($2 remote id, $3 tag, $4 element, $5 owner there): `known`
-- (recorded under this id, live or ended a moment ago), `open` (its batch is in doubt: the runner's matter),
-- `twin` (a job of ours that was recorded under another id, or given up, or that ended long ago and lives again,
-- after a crash of slurmctld), or `unknown`.
SELECT s.remote_id, s.tag, s.element, coalesce(cc.cluster_login, s.owner) AS cluster_user,
    CASE WHEN b.id IS NULL OR s.element NOT BETWEEN 0 AND b.n - 1 THEN 'unknown'
        WHEN b.state IN ('intended', 'in_doubt') THEN 'open'
        WHEN EXISTS (SELECT FROM live AS l WHERE l.job_id = b.first_job_id + s.element AND l.remote_id = s.remote_id)
            OR EXISTS (SELECT FROM done AS d WHERE d.campaign_id = b.campaign_id AND d.idx = b.idx AND d.counted
                AND d.job_id = b.first_job_id + s.element AND d.remote_id = s.remote_id
                AND d.ended_at > now() - interval '10 minutes')
            OR EXISTS (SELECT FROM done AS d WHERE d.campaign_id = b.campaign_id AND d.idx = b.idx AND NOT d.counted
                AND d.job_id = b.first_job_id + s.element AND d.remote_id = s.remote_id
                AND d.ended_at > now() - interval '10 minutes') THEN 'known'
        ELSE 'twin' END AS verdict
FROM unnest($2::text[], $3::text[], $4::int[], $5::text[]) AS s (remote_id, tag, element, owner)
LEFT JOIN LATERAL (
    SELECT id, state, n, first_job_id, campaign_id, coalesce(idxs[s.element + 1], first_idx + s.element, -1) AS idx
    FROM batches WHERE tag = s.tag AND cluster_id = $1
) AS b ON true
LEFT JOIN campaign_clusters AS cc ON cc.campaign_id = b.campaign_id AND cc.cluster_id = $1
