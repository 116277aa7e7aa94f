-- Sinks that users have been told of.
SELECT campaign_id, cluster_id FROM events WHERE state = 'open' AND code = 'SINK' AND cluster_id IS NOT NULL
