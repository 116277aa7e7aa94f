-- What the user of campaign $1 should hear of that came after event $2.
SELECT id, coalesce(nullif(message, ''), code) AS message
FROM events
WHERE campaign_id = $1 AND id > $2 AND class IN ('campaign', 'notify')
ORDER BY id
LIMIT 20;
