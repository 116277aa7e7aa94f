INSERT INTO reasons AS r (campaign_id, cluster_id, code, numbers)
SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[], $4::text[]::jsonb[])
ON CONFLICT (campaign_id, cluster_id, code) WHERE until IS NULL DO UPDATE SET numbers = excluded.numbers
