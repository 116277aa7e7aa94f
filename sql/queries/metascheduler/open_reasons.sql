SELECT campaign_id, cluster_id, code FROM reasons WHERE until IS NULL
