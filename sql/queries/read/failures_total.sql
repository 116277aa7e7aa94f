-- How many rows read/failures.sql would give without its limit.
SELECT count(*) FROM events WHERE campaign_id = $1 AND state = 'open' AND class IN ('job', 'campaign', 'cluster');
