-- name: CheckConservation
-- returns: item text, kept bool
-- The conservation of tasks (docs/design.md section 3), campaign by campaign, in one snapshot: a
-- task is waiting, in retry, in flight (unrecorded in a batch, or live), in needs_attention or
-- done, and in exactly one of these.
-- A task that is done may still have copies in flight: these do not count.
WITH c AS (
    SELECT campaign_id, ntasks, next_idx, waiting FROM campaign_cursor
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
), placed AS (
    SELECT campaign_id,
        count(*) FILTER (WHERE place = 'retry') AS retry,
        count(*) FILTER (WHERE place = 'flight') AS in_flight,
        count(*) FILTER (WHERE place = 'needs_attention') AS needs_attention,
        count(*) FILTER (WHERE idx NOT BETWEEN 0 AND next_idx - 1
            AND NOT EXISTS (SELECT FROM boosted_tasks AS b
                WHERE b.campaign_id = places.campaign_id AND b.idx = places.idx)) AS outside
    FROM places JOIN c USING (campaign_id)
    GROUP BY campaign_id
), ended AS (
    SELECT campaign_id, count(*) AS done
    FROM done
    WHERE counted AND idx >= 0 AND ($1::bigint IS NULL OR campaign_id = $1)
    GROUP BY campaign_id
), doubled AS (
    SELECT campaign_id, count(*) AS twice FROM twice GROUP BY campaign_id
), sums AS (
    SELECT campaign_id, ntasks, waiting,
        coalesce(retry, 0) AS retry, coalesce(in_flight, 0) AS in_flight,
        coalesce(needs_attention, 0) AS needs_attention, coalesce(done, 0) AS done,
        coalesce(twice, 0) AS twice, coalesce(outside, 0) AS outside
    FROM c
    LEFT JOIN placed USING (campaign_id)
    LEFT JOIN ended USING (campaign_id)
    LEFT JOIN doubled USING (campaign_id)
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
