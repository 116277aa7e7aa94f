-- Events closed for 90 days that no task to be fixed refers to.
DELETE FROM events WHERE ctid = ANY (ARRAY(
    SELECT e.ctid FROM events AS e
    WHERE e.state = 'closed' AND e.date_closed < now() - interval '90 days'
        AND NOT EXISTS (SELECT FROM tofix AS t WHERE t.event_id = e.id)
    LIMIT $1))
