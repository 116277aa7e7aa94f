-- How many tasks campaign $1 has.
SELECT coalesce((SELECT ntasks FROM campaign_cursor WHERE campaign_id = $1), 0);
