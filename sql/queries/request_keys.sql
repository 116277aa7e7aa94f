-- name: CampaignOfRequestKey
-- returns: campaign_id int64
-- What the request of user $1 with key $2 has made or changed.
SELECT campaign_id FROM request_keys WHERE grid_user = $1 AND key = $2;

-- name: DropOldRequestKeys
-- Nobody repeats a request after a day. At most $1 rows.
DELETE FROM request_keys WHERE (grid_user, key) IN (
    SELECT grid_user, key FROM request_keys WHERE at < now() - interval '1 day' LIMIT $1);

-- name: InsertRequestKey
-- The request of user $1 with key $2 makes campaign $3, or changes it, in this transaction. Fails
-- when another one has done so (unique_violation), and waits for it while it does.
INSERT INTO request_keys (grid_user, key, campaign_id) VALUES ($1, $2, $3);
