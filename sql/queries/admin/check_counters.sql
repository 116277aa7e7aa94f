-- What the counters say is in flight against what is: (campaign, state) where they differ.
WITH told AS (
    SELECT campaign_id, state, sum(n) AS n FROM counters
    WHERE state IN ('launching', 'submitted', 'remote_waiting', 'running')
        AND ($1::bigint IS NULL OR campaign_id = $1)
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
SELECT jsonb_build_object('campaign_id', campaign_id, 'state', state, 'counted', coalesce(told.n, 0),
    'is', coalesce(seen.n, 0))
FROM told FULL JOIN seen USING (campaign_id, state)
WHERE coalesce(told.n, 0) <> coalesce(seen.n, 0)
ORDER BY campaign_id, state
