SELECT campaign_id FROM events WHERE id = $1;
