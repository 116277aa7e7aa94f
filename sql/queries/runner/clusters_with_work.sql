-- Clusters for which the plan grants something, or that hold a batch whose outcome is not known yet.
SELECT cluster_id FROM grants
UNION
SELECT cluster_id FROM batches WHERE state IN ('intended', 'in_doubt')
UNION
SELECT cluster_id FROM batches WHERE NOT released AND state = 'recorded'
