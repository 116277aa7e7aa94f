SELECT id, grid_user, blocks, lines, published,
    (SELECT min(campaign_id) FROM segments AS s WHERE published AND s.upload_id = u.id) AS campaign_id
FROM uploads AS u
WHERE id = $1
FOR UPDATE OF u;
