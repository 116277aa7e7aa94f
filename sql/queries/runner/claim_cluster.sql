-- What its operator says of a cluster, locked so that a drain that has returned is seen by every
-- later claim (and waits for those under way). Set aside by CiGri 3's event it gets nothing either.
SELECT c.enabled, c.drained OR c.kill_all OR EXISTS (SELECT FROM events AS e WHERE e.state = 'open' AND e.campaign_id IS NULL
        AND e.cluster_id = c.id AND e.code = 'CLUSTER_MANUALLY_DISABLED') AS drained,
    c.mode::text, c.mode_limit, c.max_running, c.hours, c.max_calls_per_min, a.probation
FROM clusters AS c LEFT JOIN api_load AS a ON a.api = c.api
WHERE c.id = $1
FOR SHARE OF c
