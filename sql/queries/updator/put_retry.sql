-- Tasks whose last copy has ended, and that go again.
INSERT INTO retry (campaign_id, idx, rank, not_before, avoid, why)
SELECT campaign_id, idx, rank, now() + delay_s * interval '1 second',
    CASE WHEN avoid_cluster IS NULL THEN '{}'::int[] ELSE ARRAY[avoid_cluster] END, why
FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::float8[], $5::int[], $6::text[])
    AS r (campaign_id, idx, rank, delay_s, avoid_cluster, why)
ON CONFLICT (campaign_id, idx) DO NOTHING
