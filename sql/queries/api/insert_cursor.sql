INSERT INTO campaign_cursor (campaign_id, ntasks) VALUES ($1, $2);
