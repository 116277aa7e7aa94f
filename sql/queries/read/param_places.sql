-- Where the parameters of tasks $2 of campaign $1 are: upload, line in it, and the block that holds the
-- line; no upload where the parameter is the index itself.
SELECT w.idx, s.upload_id, w.idx - s.first_idx AS line, c.off
FROM unnest($2::bigint[]) AS w (idx)
JOIN segments AS s ON s.campaign_id = $1 AND w.idx >= s.first_idx AND w.idx < s.first_idx + s.n
LEFT JOIN LATERAL (
    SELECT off FROM params_chunk AS c
    WHERE c.upload_id = s.upload_id AND c.off <= w.idx - s.first_idx ORDER BY off DESC LIMIT 1
) AS c ON true
ORDER BY w.idx;
