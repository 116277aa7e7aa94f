-- What admission rules may know of user $1: campaigns that are not over, and their jobs.
WITH alive AS (
    SELECT id, type
    FROM campaigns
    WHERE grid_user = $1 AND state IN ('in_treatment', 'paused')
)
SELECT (SELECT count(*) FROM alive) AS active_campaigns,
    (SELECT count(*) FROM alive WHERE type = 'test') AS active_test_campaigns,
    (SELECT coalesce(sum(n), 0) FROM counters JOIN alive ON alive.id = campaign_id
     WHERE state = 'running')::bigint AS running_jobs,
    (SELECT coalesce(sum(ntasks - next_idx), 0) FROM campaign_cursor JOIN alive ON alive.id = campaign_id)::bigint
    + (SELECT coalesce(sum(n), 0) FROM counters JOIN alive ON alive.id = campaign_id
       WHERE state IN ('launching', 'submitted', 'remote_waiting'))::bigint AS waiting_jobs;
