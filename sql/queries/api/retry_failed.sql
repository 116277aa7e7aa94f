-- Failed tasks of campaign $1 go again, as if they had never failed: all, or those that wait for event $2. One
-- statement: a task is always in exactly one place.
WITH failed AS (
    DELETE FROM tofix WHERE campaign_id = $1 AND ($2::bigint IS NULL OR event_id = $2) RETURNING idx
), forgiven AS (
    UPDATE tries SET program = 0, again = 0, free = 0, free_here = 0
    FROM failed
    WHERE tries.campaign_id = $1 AND tries.idx = failed.idx
), moved AS (
    INSERT INTO retry (campaign_id, idx, rank, why)
    SELECT $1, idx, 0, 'asked for by its user' FROM failed
    RETURNING 1
)
SELECT count(*) FROM moved;
