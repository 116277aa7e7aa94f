-- A draft becomes parameters of a campaign, once.
UPDATE uploads
SET published = true, touched_at = now()
WHERE id = $1 AND NOT published;
