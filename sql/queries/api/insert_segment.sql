INSERT INTO segments (campaign_id, first_idx, n, upload_id) VALUES ($1, $2, $3, $4);
