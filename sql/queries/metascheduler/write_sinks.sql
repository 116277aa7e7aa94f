INSERT INTO sinks (campaign_id, cluster_id, n, until)
SELECT s.campaign_id, s.cluster_id, s.n, to_timestamp(s.until)
FROM unnest($1::bigint[], $2::int[], $3::int[], $4::float8[]) AS s (campaign_id, cluster_id, n, until)
ON CONFLICT (campaign_id, cluster_id) DO NOTHING
