-- The grants of cluster $1 in the order of the plan, with what is in flight against them now.
SELECT g.campaign_id, g.kind::text, g.n, cc.slots, cc.max_jobs, coalesce(f.same, 0) AS in_flight_kind,
    coalesce(f.all_kinds, 0) AS in_flight, cur.ntasks - cur.next_idx AS fresh
FROM grants AS g
JOIN campaigns AS c ON c.id = g.campaign_id
    AND ((c.wanted = 'in_treatment' AND c.state = 'in_treatment') OR (c.state = 'cancelled' AND g.kind = 'epilogue'))
JOIN campaign_clusters AS cc ON cc.campaign_id = g.campaign_id AND cc.cluster_id = g.cluster_id
JOIN campaign_cursor AS cur ON cur.campaign_id = g.campaign_id
LEFT JOIN LATERAL (
    SELECT sum(k.n) FILTER (WHERE k.kind = g.kind) AS same,
        sum(k.n) FILTER (WHERE k.kind IN ('task', 'replica', 'test')) AS all_kinds
    FROM counters AS k
    WHERE k.campaign_id = g.campaign_id AND k.cluster_id = g.cluster_id
        AND k.state IN ('launching', 'submitted', 'remote_waiting', 'running')
) AS f ON true
WHERE g.cluster_id = $1
    AND NOT EXISTS (SELECT FROM events AS e WHERE e.state = 'open' AND e.campaign_id = g.campaign_id
        AND e.cluster_id = g.cluster_id AND e.code IN ('SUBMIT_REFUSED', 'TOKEN_MISSING'))
ORDER BY g.rank, g.campaign_id
