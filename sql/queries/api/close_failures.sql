-- What kept campaign $1 or its tasks from running has been answered: failures of jobs, and holds.
UPDATE events
SET state = 'closed', date_closed = now(), date_update = now(), closed_by = $2
WHERE campaign_id = $1 AND state = 'open'
    AND (class = 'job' OR code IN ('HELD_FIRST_TEN', 'HELD_EVERYWHERE'));
