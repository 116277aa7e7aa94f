-- The end of a campaign closes what nobody has to answer any more ($2: only what was to be read).
UPDATE events SET state = 'closed', date_closed = now(), date_update = now(), closed_by = 'updator'
WHERE campaign_id = $1 AND state = 'open' AND (class IN ('notify', 'log') OR NOT $2)
