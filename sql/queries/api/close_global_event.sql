UPDATE events
SET state = 'closed', date_closed = now(), date_update = now(), closed_by = $2
WHERE id = $1 AND state = 'open';
