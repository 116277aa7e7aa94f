-- Block $2 of draft $1, which begins at line $3 and has $4 lines, the longest of $5 bytes.
INSERT INTO params_chunk (upload_id, block, off, n, longest, params)
VALUES ($1, $2, $3, $4, $5, $6);
