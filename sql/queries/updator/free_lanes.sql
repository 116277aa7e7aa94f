-- Lanes whose hold somebody has answered (its event is closed): ten more jobs may try.
UPDATE lanes AS l
SET held_since = NULL, held_event = NULL, held_why = NULL, ended = 0, program_failures = 0,
    prologue = CASE WHEN l.prologue = 'failed' THEN 'none' ELSE l.prologue END
FROM events AS e
WHERE l.held_since IS NOT NULL AND e.id = l.held_event AND e.state = 'closed'
