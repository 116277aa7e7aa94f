-- What failed tasks have used up. REQUIRES: each task once.
INSERT INTO tries AS t (campaign_id, idx, attempts, program, again, free, free_here, last_cluster)
SELECT e.campaign_id, e.idx, e.attempts, e.program, e.again, e.free, e.free, e.cluster_id
FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::int[], $5::int[], $6::int[], $7::int[])
    AS e (campaign_id, idx, attempts, program, again, free, cluster_id)
ON CONFLICT (campaign_id, idx) DO UPDATE SET
    attempts = t.attempts + excluded.attempts, program = t.program + excluded.program,
    again = t.again + excluded.again, free = t.free + excluded.free,
    free_here = CASE WHEN t.last_cluster = excluded.last_cluster THEN t.free_here + excluded.free ELSE excluded.free END,
    last_cluster = excluded.last_cluster
