-- The next $3 tasks after $2 of campaign $1 whose tries are spent.
SELECT idx FROM tofix WHERE campaign_id = $1 AND idx > $2 ORDER BY idx LIMIT $3;
