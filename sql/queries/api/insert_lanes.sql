-- A lane per cluster of campaign $1; the updator alone changes them.
INSERT INTO lanes (campaign_id, cluster_id)
SELECT campaign_id, cluster_id FROM campaign_clusters WHERE campaign_id = $1
ON CONFLICT DO NOTHING;
