-- The next $3 tasks after $2 of campaign $1 that are done.
SELECT idx FROM done WHERE campaign_id = $1 AND idx > $2 AND counted ORDER BY idx LIMIT $3;
