-- Whether block $2 of draft $1 is this text: what is repeated must be the same.
SELECT params = $3 AND n = $4
FROM params_chunk
WHERE upload_id = $1 AND block = $2;
