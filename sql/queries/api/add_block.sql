-- Block $2 of draft $1, which begins at line $3 and has $4 lines.
INSERT INTO params_chunk (upload_id, block, off, n, params)
VALUES ($1, $2, $3, $4, $5);
