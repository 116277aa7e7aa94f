-- Some blocks of an upload, from line $2 on.
SELECT params FROM params_chunk WHERE upload_id = $1 AND off >= $2 ORDER BY off LIMIT 8;
