-- Tasks of these campaigns that are not done, with one copy in flight only, by the cluster where it is (CIG-30).
SELECT campaign_id, cluster_id, count(*) AS n
FROM (
    SELECT campaign_id, idx, min(cluster_id) AS cluster_id FROM live AS l
    WHERE campaign_id = ANY ($1::bigint[]) AND kind IN ('task', 'replica')
        AND NOT EXISTS (SELECT FROM done AS d WHERE d.campaign_id = l.campaign_id AND d.idx = l.idx AND d.counted)
    GROUP BY campaign_id, idx HAVING count(*) = 1
) AS s
GROUP BY 1, 2
