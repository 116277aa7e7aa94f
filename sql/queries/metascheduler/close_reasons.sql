UPDATE reasons AS r SET until = now()
FROM unnest($1::bigint[], $2::int[], $3::text[]) AS o (campaign_id, cluster_id, code)
WHERE r.until IS NULL AND r.campaign_id = o.campaign_id AND r.cluster_id = o.cluster_id AND r.code = o.code
