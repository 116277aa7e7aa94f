-- The rules run again: a campaign has passed all of them.
UPDATE events SET state = 'closed', date_closed = now(), date_update = now(), closed_by = 'api'
WHERE code = 'RULE_BROKEN' AND state = 'open'
