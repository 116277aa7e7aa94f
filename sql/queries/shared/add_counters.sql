-- Adds to a module's own rows of the counters; $6 is the writer. Each key at most once in a call.
INSERT INTO counters AS c (campaign_id, cluster_id, kind, state, writer, n, slots, sum_start)
SELECT d.campaign_id, d.cluster_id, d.kind::batch_kind, d.state, $6, d.n, d.slots, d.sum_start
FROM unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::bigint[], $7::bigint[], $8::float8[])
    AS d (campaign_id, cluster_id, kind, state, n, slots, sum_start)
ORDER BY 1, 2, 3, 4  -- one order for everybody: two writers never deadlock
ON CONFLICT (campaign_id, cluster_id, kind, state, writer)
DO UPDATE SET n = c.n + excluded.n, slots = c.slots + excluded.slots, sum_start = c.sum_start + excluded.sum_start
