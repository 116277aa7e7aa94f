-- What its operator says of a cluster, locked so that a drain that has returned is seen by every
-- later claim (and waits for those under way).
SELECT c.enabled, c.drained OR c.kill_all AS drained, c.mode::text, c.mode_limit, c.max_running, c.hours,
    c.max_calls_per_min, a.probation
FROM clusters AS c LEFT JOIN api_load AS a ON a.api = c.api
WHERE c.id = $1
FOR SHARE OF c
