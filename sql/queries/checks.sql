-- name: CheckConservation
-- returns: item text, kept bool
-- The conservation of tasks (docs/design.md section 3), campaign by campaign, in one snapshot: a
-- task is waiting, in retry, in flight (unrecorded in a batch, or live), in needs_attention or
-- done, and in exactly one of these.
-- A task that is done may still have copies in flight: these do not count.
WITH c AS (
    SELECT campaign_id, ntasks, next_idx FROM campaign_cursor
    WHERE $1::bigint IS NULL OR campaign_id = $1
), unrecorded AS (
    SELECT b.campaign_id, coalesce(x.idx, r.idx) AS idx
    FROM batches AS b
    LEFT JOIN LATERAL unnest(b.idxs) AS x (idx) ON true
    LEFT JOIN LATERAL generate_series(b.first_idx, b.first_idx + b.n - 1) AS r (idx) ON true
    WHERE b.state IN ('intended', 'in_doubt') AND b.kind IN ('task', 'test', 'replica')
), flight AS (
    SELECT f.campaign_id, f.idx,
        EXISTS (SELECT FROM done AS d WHERE d.campaign_id = f.campaign_id AND d.idx = f.idx
            AND d.counted) AS copy
    FROM (
        SELECT campaign_id, idx FROM unrecorded
        UNION
        SELECT campaign_id, idx FROM live WHERE kind IN ('task', 'test', 'replica')
    ) AS f
), places AS (
    SELECT campaign_id, idx, 'flight' AS place FROM flight WHERE NOT copy
    UNION ALL SELECT campaign_id, idx, 'retry' FROM retry
    UNION ALL SELECT campaign_id, idx, 'needs_attention' FROM needs_attention
), twice AS (
    SELECT p.campaign_id, p.idx
    FROM places AS p
    GROUP BY p.campaign_id, p.idx
    HAVING count(*) > 1 OR bool_or(EXISTS (
        SELECT FROM done AS d WHERE d.campaign_id = p.campaign_id AND d.idx = p.idx AND d.counted))
), sums AS (
    SELECT c.campaign_id, c.ntasks, c.ntasks - c.next_idx AS waiting,
        (SELECT count(*) FROM retry AS r WHERE r.campaign_id = c.campaign_id) AS retry,
        (SELECT count(*) FROM flight AS f WHERE f.campaign_id = c.campaign_id
            AND NOT f.copy) AS in_flight,
        (SELECT count(*) FROM needs_attention AS t
            WHERE t.campaign_id = c.campaign_id) AS needs_attention,
        (SELECT count(*) FROM done AS d WHERE d.campaign_id = c.campaign_id AND d.counted
            AND d.idx >= 0) AS done,
        (SELECT count(*) FROM twice AS t WHERE t.campaign_id = c.campaign_id) AS twice,
        (SELECT count(*) FROM places AS p WHERE p.campaign_id = c.campaign_id
            AND p.idx NOT BETWEEN 0 AND c.next_idx - 1)
            AS outside
    FROM c
)
SELECT to_jsonb(s) AS item, waiting + retry + in_flight + needs_attention + done = ntasks
    AND twice = 0 AND outside = 0 AS kept
FROM sums AS s
ORDER BY campaign_id;

-- name: CheckCounters
-- returns: item text
-- What the counters say is in flight against what is: (campaign, state) where they differ.
WITH reported AS (
    SELECT campaign_id, state, sum(n) AS n FROM jobs_in_flight
    WHERE $1::bigint IS NULL OR campaign_id = $1
    GROUP BY campaign_id, state
), seen AS (
    SELECT campaign_id, state::text, count(*) AS n FROM live
    WHERE $1::bigint IS NULL OR campaign_id = $1
    GROUP BY campaign_id, state
    UNION ALL
    SELECT campaign_id, 'launching', sum(n) FROM batches
    WHERE state IN ('intended', 'in_doubt') AND ($1::bigint IS NULL OR campaign_id = $1)
    GROUP BY campaign_id
)
SELECT jsonb_build_object('campaign_id', campaign_id, 'state', state, 'counted',
    coalesce(reported.n, 0),
    'is', coalesce(seen.n, 0)) AS item
FROM reported FULL JOIN seen USING (campaign_id, state)
WHERE coalesce(reported.n, 0) <> coalesce(seen.n, 0)
ORDER BY campaign_id, state;
