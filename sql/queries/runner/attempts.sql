-- How often these tasks of campaign $1 have been tried.
SELECT idx, attempts FROM tries WHERE campaign_id = $1 AND idx = ANY ($2::bigint[])
