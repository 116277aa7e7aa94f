SELECT campaign_id, cluster_id, code, numbers FROM reasons WHERE until IS NULL
