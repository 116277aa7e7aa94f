-- The chunks that hold the parameters of the tasks $2 of campaign $1. A segment without an upload
-- has no chunk: there the parameter is the task's index.
WITH place AS (
    SELECT DISTINCT s.first_idx, s.n, s.upload_id,
        (SELECT max(p.off) FROM params_chunk AS p
         WHERE p.upload_id = s.upload_id AND p.off <= i.idx - s.first_idx) AS off
    FROM unnest($2::bigint[]) AS i (idx)
    JOIN segments AS s ON s.campaign_id = $1 AND s.first_idx <= i.idx AND i.idx < s.first_idx + s.n
)
SELECT place.first_idx, place.n, p.off, p.n AS lines, p.params
FROM place LEFT JOIN params_chunk AS p ON p.upload_id = place.upload_id AND p.off = place.off
