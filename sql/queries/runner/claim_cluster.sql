-- What its operator says of a cluster, locked so that a drain that has returned is seen by every
-- later claim (and waits for those under way).
SELECT enabled, drained OR kill_all AS drained, mode::text, mode_limit, max_running, hours
FROM clusters WHERE id = $1
FOR SHARE
