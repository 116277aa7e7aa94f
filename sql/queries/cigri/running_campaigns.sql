-- Campaigns whose jobs run on the clusters of `cigri up`.
SELECT DISTINCT l.campaign_id FROM live AS l JOIN clusters AS k ON k.id = l.cluster_id
WHERE l.state = 'running' AND k.kind = 'local' ORDER BY 1
