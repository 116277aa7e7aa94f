-- What people ask of a campaign. Its state follows when the updator has seen to it.
UPDATE campaigns SET wanted = $2::campaign_state WHERE id = $1;
