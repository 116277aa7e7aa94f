-- Epilogues that a cluster has not run $2 seconds after the last task of the campaign ended, and those of
-- the clusters $3, which have not confirmed its kills for as long.
UPDATE lanes AS l SET epilogue = 'given_up'
FROM campaigns AS c, campaign_clusters AS cc, clusters AS k
WHERE c.id = $1 AND l.campaign_id = c.id AND cc.campaign_id = c.id AND cc.cluster_id = l.cluster_id
    AND k.id = l.cluster_id AND cc.epilogue IS NOT NULL AND l.epilogue = 'none'
    AND (c.finishing_since < now() - $2 * interval '1 second' OR l.cluster_id = ANY ($3::int[]))
    AND NOT EXISTS (SELECT FROM live AS v WHERE v.campaign_id = c.id AND v.cluster_id = l.cluster_id AND v.kind = 'epilogue')
RETURNING l.cluster_id, k.name
