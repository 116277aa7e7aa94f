-- Drafts that nobody has written to for $1 seconds and no campaign names: at most $2 of their blocks,
-- and themselves when none is left.
WITH old AS (
    SELECT id FROM uploads
    WHERE NOT published AND touched_at < now() - $1 * interval '1 second' ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED
), blocks AS (
    DELETE FROM params_chunk WHERE ctid = ANY (ARRAY(
        SELECT p.ctid FROM params_chunk AS p JOIN old ON p.upload_id = old.id LIMIT $2))
    RETURNING 1
)
SELECT (SELECT count(*) FROM blocks) AS n, (SELECT count(*) FROM old) AS drafts
