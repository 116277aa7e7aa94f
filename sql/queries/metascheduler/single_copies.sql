-- Tasks of these campaigns that are not done, with one copy in flight only, by the cluster where it is (CIG-30).
-- One whose copies have failed is left alone: as in runner/claim_replicas.
SELECT campaign_id, cluster_id, count(*) AS n
FROM (
    SELECT l.campaign_id, l.idx, min(l.cluster_id) AS cluster_id
    FROM live AS l JOIN campaigns AS c ON c.id = l.campaign_id
    WHERE l.campaign_id = ANY ($1::bigint[]) AND l.kind IN ('task', 'replica')
        AND NOT EXISTS (SELECT FROM done AS d WHERE d.campaign_id = l.campaign_id AND d.idx = l.idx AND d.counted)
        AND (SELECT count(*) FILTER (WHERE b.account = 'program') < c.max_replicas AND count(*) < 10 + c.max_replicas
             FROM done AS b WHERE b.campaign_id = l.campaign_id AND b.idx = l.idx AND NOT b.counted AND b.kind = 'replica')
    GROUP BY l.campaign_id, l.idx HAVING count(*) = 1
) AS s
GROUP BY 1, 2
