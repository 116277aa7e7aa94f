-- Takes the next $2[i] tasks of each campaign $1[i].
-- REQUIRES: each campaign once in $1, else its range goes out twice; so it would if it were
-- computed from a row read before its lock: FOR UPDATE comes first.
WITH wanted AS (
    SELECT * FROM unnest($1::bigint[], $2::int[]) AS w (campaign_id, n)
), range AS (
    SELECT c.campaign_id, c.next_idx AS first_idx, least(c.next_idx + w.n, c.ntasks) AS end_idx
    FROM campaign_cursor AS c
    JOIN wanted AS w USING (campaign_id)
    ORDER BY c.campaign_id  -- one order for everybody: two claims never deadlock
    FOR UPDATE OF c
), moved AS (
    UPDATE campaign_cursor AS c
    SET next_idx = range.end_idx
    FROM range
    WHERE c.campaign_id = range.campaign_id AND range.end_idx > range.first_idx
)
SELECT campaign_id, first_idx, end_idx - first_idx AS n FROM range WHERE end_idx > first_idx
