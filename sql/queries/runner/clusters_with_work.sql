-- Clusters for which the plan grants something, that hold a batch whose outcome is not known yet, or
-- where campaigns wait for a token.
SELECT cluster_id FROM grants
UNION
SELECT cluster_id FROM batches WHERE state IN ('intended', 'in_doubt')
UNION
SELECT cluster_id FROM batches WHERE NOT released AND state = 'recorded'
UNION
SELECT cluster_id FROM still_held
UNION
SELECT cluster_id FROM events WHERE state = 'open' AND code = 'TOKEN_MISSING'
