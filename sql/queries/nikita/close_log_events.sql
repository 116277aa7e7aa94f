-- What needs no answer is closed by itself a day after it was seen last.
UPDATE events SET state = 'closed', date_closed = now(), closed_by = 'nikita'
WHERE state = 'open' AND class = 'log' AND date_update < now() - interval '1 day'
