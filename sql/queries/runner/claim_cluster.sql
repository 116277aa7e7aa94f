-- What its operator says of a cluster, locked so that a drain that has returned is seen by every
-- later claim (and waits for those under way). Set aside by CiGri 3's event it gets nothing either.
SELECT enabled, drained OR kill_all OR EXISTS (SELECT FROM events AS e WHERE e.state = 'open' AND e.campaign_id IS NULL
        AND e.cluster_id = clusters.id AND e.code = 'CLUSTER_MANUALLY_DISABLED') AS drained,
    mode::text, mode_limit, max_running, hours
FROM clusters WHERE id = $1
FOR SHARE
