-- Some blocks of an upload from line $2 on: the first, and those that hold a line of more than $3 bytes.
SELECT off, params FROM params_chunk
WHERE upload_id = $1 AND off >= $2 AND (off = 0 OR longest > $3)
ORDER BY off LIMIT 8;
