INSERT INTO grants (campaign_id, cluster_id, kind, n, rank, plan_id)
SELECT g.campaign_id, g.cluster_id, g.kind::batch_kind, g.n, g.rank, $1
FROM unnest($2::bigint[], $3::int[], $4::text[], $5::int[], $6::int[]) AS g (campaign_id, cluster_id, kind, n, rank)
