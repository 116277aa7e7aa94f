-- Takes up to $2[i] tasks that go again of each campaign $1[i] for cluster $4; those of rank 1 (exit
-- code 67) only when the campaign has no fresh task left ($3[i]). REQUIRES: each campaign once.
-- A task stays away from the clusters it failed on for two minutes, then takes what there is.
WITH chosen AS (
    SELECT r.campaign_id, r.idx
    FROM unnest($1::bigint[], $2::int[], $3::boolean[]) AS w (campaign_id, n, no_fresh)
    CROSS JOIN LATERAL (
        SELECT t.campaign_id, t.idx
        FROM retry AS t
        WHERE t.campaign_id = w.campaign_id AND t.not_before <= now() AND (t.rank = 0 OR w.no_fresh)
            AND NOT ($4 = ANY (t.avoid) AND t.since > now() - interval '2 minutes')
        ORDER BY t.rank, t.since, t.idx
        LIMIT w.n
        FOR UPDATE SKIP LOCKED
    ) AS r
), taken AS (
    DELETE FROM retry AS d USING chosen AS c
    WHERE d.campaign_id = c.campaign_id AND d.idx = c.idx
    RETURNING d.campaign_id, d.idx
)
SELECT campaign_id, idx, coalesce(t.attempts, 0) + 1 AS attempt
FROM taken LEFT JOIN tries AS t USING (campaign_id, idx)
ORDER BY campaign_id, idx
