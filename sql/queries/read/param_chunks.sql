-- The blocks of upload $1 that begin at lines $2.
SELECT off, params FROM params_chunk WHERE upload_id = $1 AND off = ANY ($2::bigint[]);
