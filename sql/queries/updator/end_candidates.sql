-- Campaigns that may be over: the cursor is through (or it is a test campaign); $2: those that had an
-- end just now, $1: all. Counters only suggest; an exact look decides. And cancelled ones that are not complete.
SELECT c.id, c.state::text
FROM campaigns AS c JOIN campaign_cursor AS cur ON cur.campaign_id = c.id
WHERE c.state = 'in_treatment' AND ($1 OR c.id = ANY ($2::bigint[]))
    AND (cur.next_idx >= cur.ntasks OR c.type = 'test')
UNION ALL
SELECT id, state::text FROM campaigns WHERE state = 'cancelled' AND completion_time IS NULL
ORDER BY 1
