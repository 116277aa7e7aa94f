-- A complete answer in which the tag was absent, or a failed look: when to look again.
UPDATE batches
SET looks = looks + $2, first_absence_at = CASE WHEN $2 > 0 THEN coalesce(first_absence_at, now()) ELSE first_absence_at END,
    next_look_at = now() + $3 * interval '1 second'
WHERE id = $1 AND state = 'in_doubt'
