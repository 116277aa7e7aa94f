-- Up to $2 tasks of campaign $1 that run elsewhere than on cluster $3 in one copy only, longest first (CIG-30).
-- A copy that is only still being killed, because another has won, is no reason for a third.
SELECT l.idx, max(l.attempt) + 1 AS attempt
FROM live AS l
WHERE l.campaign_id = $1 AND l.kind IN ('task', 'replica')
    AND NOT EXISTS (SELECT FROM done AS d WHERE d.campaign_id = $1 AND d.idx = l.idx AND d.counted)
    AND NOT EXISTS (SELECT FROM batches AS b WHERE b.campaign_id = $1 AND b.kind = 'replica'
        AND b.state IN ('intended', 'in_doubt') AND l.idx = ANY (b.idxs))
GROUP BY l.idx
HAVING count(*) = 1 AND bool_and(l.cluster_id <> $3 OR $4)
ORDER BY min(l.started_at) NULLS LAST, l.idx
LIMIT $2
