-- Overdue jobs that users have been told of.
SELECT campaign_id, cluster_id FROM events WHERE state = 'open' AND code = 'OVERDUE'
