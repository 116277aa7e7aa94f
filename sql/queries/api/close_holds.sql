-- The holds of campaign $1 are answered: it is another program now.
UPDATE events
SET state = 'closed', date_closed = now(), date_update = now(), closed_by = $2
WHERE campaign_id = $1 AND state = 'open' AND code IN ('HELD_FIRST_TEN', 'HELD_EVERYWHERE');
