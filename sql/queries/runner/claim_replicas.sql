-- Up to $2 tasks of campaign $1 that run in one copy only, longest first, those that run elsewhere than on cluster $3
-- before others (CIG-30). A copy that is only still being killed, because another has won, is no reason for a third.
-- One whose copies have failed as often as the campaign allows copies, or were lost ten times more, gets none: it may hang.
SELECT l.idx, max(l.attempt) + 1 AS attempt
FROM live AS l JOIN campaigns AS c ON c.id = l.campaign_id
WHERE l.campaign_id = $1 AND l.kind IN ('task', 'replica')
    AND NOT EXISTS (SELECT FROM done AS d WHERE d.campaign_id = $1 AND d.idx = l.idx AND d.counted)
    AND NOT EXISTS (SELECT FROM batches AS b WHERE b.campaign_id = $1 AND b.kind = 'replica'
        AND b.state IN ('intended', 'in_doubt') AND l.idx = ANY (b.idxs))
    AND (SELECT count(*) FILTER (WHERE b.account = 'program') < c.max_replicas AND count(*) < 10 + c.max_replicas
         FROM done AS b WHERE b.campaign_id = $1 AND b.idx = l.idx AND NOT b.counted AND b.kind = 'replica')
GROUP BY l.idx
HAVING count(*) = 1
ORDER BY bool_or(l.cluster_id = $3), min(l.started_at) NULLS LAST, l.idx
LIMIT $2
