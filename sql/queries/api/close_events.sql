-- Closes the open events of campaign $1: all, or $2 alone.
UPDATE events
SET state = 'closed', date_closed = now(), date_update = now(), closed_by = $3
WHERE campaign_id = $1 AND ($2::bigint IS NULL OR id = $2) AND state = 'open';
