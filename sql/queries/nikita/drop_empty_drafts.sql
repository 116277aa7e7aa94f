-- Abandoned drafts without blocks.
DELETE FROM uploads AS u
WHERE NOT published AND touched_at < now() - $1 * interval '1 second'
    AND NOT EXISTS (SELECT FROM params_chunk AS p WHERE p.upload_id = u.id)
