-- The next $3 tasks after $2 of campaign $1 that run on a cluster or wait in its queue.
SELECT DISTINCT idx FROM live WHERE campaign_id = $1 AND idx > $2 ORDER BY idx LIMIT $3;
