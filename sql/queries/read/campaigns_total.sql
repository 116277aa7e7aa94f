-- How many campaigns read/campaigns.sql would list without its limit: of user $1 (or NULL), in a state of $2.
SELECT count(*) FROM campaigns
WHERE ($1::text IS NULL OR grid_user = $1) AND state = ANY ($2::campaign_state[]);
