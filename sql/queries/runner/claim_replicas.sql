-- Up to $2 tasks of campaign $1 that run elsewhere than on cluster $3 in one copy only, longest first (CIG-30).
SELECT l.idx, max(l.attempt) + 1 AS attempt
FROM live AS l
WHERE l.campaign_id = $1 AND l.kind IN ('task', 'replica')
    AND NOT EXISTS (SELECT FROM batches AS b WHERE b.campaign_id = $1 AND b.kind = 'replica'
        AND b.state IN ('intended', 'sent', 'in_doubt') AND l.idx = ANY (b.idxs))
GROUP BY l.idx
HAVING count(*) = 1 AND bool_and(l.cluster_id <> $3 OR $4)
ORDER BY min(l.started_at) NULLS LAST, l.idx
LIMIT $2
