SELECT params, n
FROM params_chunk
WHERE upload_id = $1 AND off = 0;
