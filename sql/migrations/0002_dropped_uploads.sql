-- An abandoned upload is removed block by block: from the first of these on it is no upload any
-- more, and nobody can submit it with holes.
ALTER TABLE uploads ADD COLUMN dropped boolean NOT NULL DEFAULT false;
UPDATE uploads AS u SET dropped = true
WHERE NOT published
    AND blocks > (SELECT count(*) FROM params_chunk AS p WHERE p.upload_id = u.id);
