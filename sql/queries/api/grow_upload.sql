UPDATE uploads
SET blocks = blocks + 1, lines = lines + $2, bytes = bytes + $3, touched_at = now()
WHERE id = $1;
