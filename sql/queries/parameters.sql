-- name: AddBlock
-- Block $2 of upload $1, which begins at line $3 and has $4 lines, the longest of $5 bytes.
INSERT INTO params_chunk (upload_id, block, off, n, longest, params)
VALUES ($1, $2, $3, $4, $5, $6);

-- name: AddInlineUpload
-- returns: id int64
-- Parameters that came in the JDL are kept like those that were uploaded.
INSERT INTO uploads (grid_user, blocks, lines, bytes, published)
VALUES ($1, $2, $3, $4, true)
RETURNING id;

-- name: BlocksFrom
-- returns: params text
-- Some blocks of an upload, from line $2 on.
SELECT params FROM params_chunk WHERE upload_id = $1 AND off >= $2 ORDER BY off LIMIT 8;

-- name: DropStaleUploadBlocks
-- returns: n int64, uploads int64
-- Uploads that nobody has written to for $1 seconds and no campaign names: at most $2 of their
-- blocks. They are dropped from the first block on: what is left of them cannot be submitted.
WITH old AS (
    SELECT id FROM uploads
    WHERE NOT published AND touched_at < now() - $1 * interval '1 second'
    ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED
), marked AS (
    UPDATE uploads AS u SET dropped = true FROM old WHERE u.id = old.id AND NOT u.dropped
), blocks AS (
    DELETE FROM params_chunk WHERE ctid = ANY (ARRAY(
        SELECT p.ctid FROM params_chunk AS p JOIN old ON p.upload_id = old.id LIMIT $2))
    RETURNING 1
)
SELECT (SELECT count(*) FROM blocks) AS n, (SELECT count(*) FROM old) AS uploads;

-- name: DropStaleUploads
-- Abandoned uploads without blocks.
DELETE FROM uploads AS u
WHERE NOT published AND touched_at < now() - $1 * interval '1 second'
    AND NOT EXISTS (SELECT FROM params_chunk AS p WHERE p.upload_id = u.id);

-- name: DropUpload
DELETE FROM uploads WHERE id = $1;

-- name: DropUploadBlocks
DELETE FROM params_chunk WHERE upload_id = $1;

-- name: FirstBlock
-- returns: params text, n int
SELECT params, n
FROM params_chunk
WHERE upload_id = $1 AND off = 0;

-- name: GreatestUse
-- returns: name text, used int64, grid_user text?
-- What the user who has most of it has, by the name of the limit (core/limits.h).
(SELECT 'uploads' AS name, count(*) AS used, grid_user
 FROM uploads WHERE NOT published GROUP BY grid_user ORDER BY used DESC, grid_user LIMIT 1)
UNION ALL
(SELECT 'upload-mb', ceil(sum(bytes) / 1e6)::bigint AS used, grid_user
 FROM uploads GROUP BY grid_user ORDER BY used DESC, grid_user LIMIT 1)
UNION ALL
(SELECT 'tasks', nb_params AS used, grid_user
 FROM campaigns WHERE state IN ('in_treatment', 'paused')
 ORDER BY used DESC, grid_user LIMIT 1)
UNION ALL
(SELECT 'test-campaigns', count(*) AS used, grid_user
 FROM campaigns WHERE state IN ('in_treatment', 'paused') AND type = 'test'
 GROUP BY grid_user ORDER BY used DESC, grid_user LIMIT 1)
UNION ALL
(SELECT 'subscriptions', count(*) AS used, grid_user
 FROM user_notifications GROUP BY grid_user ORDER BY used DESC, grid_user LIMIT 1);

-- name: GrowUpload
UPDATE uploads
SET blocks = blocks + 1, lines = lines + $2, bytes = bytes + $3, touched_at = now()
WHERE id = $1;

-- name: InsertSegment
INSERT INTO segments (campaign_id, first_idx, n, upload_id) VALUES ($1, $2, $3, $4);

-- name: LoadParameters
-- returns: first_idx int64, n int64, uploaded bool, off int64?, params text?
-- The chunks that hold the parameters of the tasks $2 of campaign $1. Only where nothing was
-- uploaded the parameter is the task's index; elsewhere a chunk that is missing is a fault.
WITH place AS (
    SELECT DISTINCT s.first_idx, s.n, s.upload_id,
        (SELECT max(p.off) FROM params_chunk AS p
         WHERE p.upload_id = s.upload_id AND p.off <= i.idx - s.first_idx) AS off
    FROM unnest($2::bigint[]) AS i (idx)
    JOIN segments AS s ON s.campaign_id = $1 AND s.first_idx <= i.idx AND i.idx < s.first_idx + s.n
)
SELECT place.first_idx, place.n, place.upload_id IS NOT NULL AS uploaded, p.off, p.params
FROM place LEFT JOIN params_chunk AS p ON p.upload_id = place.upload_id AND p.off = place.off;

-- name: LocateParameters
-- returns: idx int64, upload_id int64?, line int64, off int64?
-- Where the parameters of tasks $2 of campaign $1 are: upload, line in it, and the block that holds
-- the line; no upload where the parameter is the index itself.
SELECT w.idx, s.upload_id, w.idx - s.first_idx AS line, c.off
FROM unnest($2::bigint[]) AS w (idx)
JOIN segments AS s ON s.campaign_id = $1 AND w.idx >= s.first_idx AND w.idx < s.first_idx + s.n
LEFT JOIN LATERAL (
    SELECT off FROM params_chunk AS c
    WHERE c.upload_id = s.upload_id AND c.off <= w.idx - s.first_idx ORDER BY off DESC LIMIT 1
) AS c ON true
ORDER BY w.idx;

-- name: LockUpload
-- returns: id int64, grid_user text, blocks int, lines int64, published bool, dropped bool,
-- returns: campaign_id int64?
SELECT id, grid_user, blocks, lines, published, dropped,
    (SELECT min(campaign_id) FROM segments AS s WHERE published
        AND s.upload_id = u.id) AS campaign_id
FROM uploads AS u
WHERE id = $1
FOR UPDATE OF u;

-- name: LongBlocks
-- returns: off int64, params text
-- Some blocks of an upload from line $2 on: the first, and those that hold a line of more than $3
-- bytes.
SELECT off, params FROM params_chunk
WHERE upload_id = $1 AND off >= $2 AND (off = 0 OR longest > $3)
ORDER BY off LIMIT 8;

-- name: OpenUpload
-- returns: id int64
-- A new upload of user $1, unless there are $2 already: uploads are space that nobody has asked for
-- yet.
INSERT INTO uploads (grid_user)
SELECT $1
WHERE (SELECT count(*) FROM uploads WHERE grid_user = $1 AND NOT published) < $2
RETURNING id;

-- name: PublishUpload
-- An upload becomes parameters of a campaign, once.
UPDATE uploads
SET published = true, touched_at = now()
WHERE id = $1 AND NOT published;

-- name: ReadBlocks
-- returns: off int64, params text
-- The blocks of upload $1 that begin at lines $2.
SELECT off, params FROM params_chunk WHERE upload_id = $1 AND off = ANY ($2::bigint[]);

-- name: SameBlock
-- returns: same bool
-- Whether block $2 of upload $1 is this text: what is repeated must be the same.
SELECT params = $3 AND n = $4 AS same
FROM params_chunk
WHERE upload_id = $1 AND block = $2;

-- name: UploadedBytes
-- returns: bytes int64
-- Parameters of user $1 that are in the database: of campaigns that are not purged, and of uploads
-- that no campaign names.
SELECT coalesce(sum(bytes), 0)::bigint AS bytes FROM uploads WHERE grid_user = $1;

-- name: LongJdlBytes
-- returns: bytes int64
-- The JDLs of user $1 that have more than $2 bytes, of campaigns that are not purged.
SELECT coalesce(sum(pg_column_size(jdl)), 0)::bigint AS bytes
FROM campaigns
WHERE grid_user = $1 AND pg_column_size(jdl) > $2;
