-- The elements $2 of batch $1 are certainly not on the cluster: their tasks go again, first.
-- (A batch that is partly there has been recorded already; then only its tasks move here.)
INSERT INTO retry (campaign_id, idx, rank, why)
SELECT b.campaign_id, coalesce(b.idxs[e.element + 1], b.first_idx + e.element), 0, $3
FROM batches AS b, unnest($2::int[]) AS e (element)
WHERE b.id = $1 AND b.kind IN ('task', 'test')
ON CONFLICT DO NOTHING
