-- Who used what in the last $1 seconds, jobs that run included (all of what they have used), and who wants something.
WITH had AS (
    SELECT project, grid_user, slot_s, 0::bigint AS running, 0::bigint AS waiting
    FROM usage WHERE bucket >= now() - $1 * interval '1 second'
    UNION ALL
    SELECT c.project, c.grid_user, extract(epoch FROM now()) * k.slots - k.sum_start, k.n, 0
    FROM counters AS k JOIN campaigns AS c ON c.id = k.campaign_id
    WHERE k.state = 'running' AND c.state NOT IN ('terminated', 'cancelled')
    UNION ALL
    SELECT c.project, c.grid_user, 0, 0, cur.ntasks - cur.next_idx
    FROM campaigns AS c JOIN campaign_cursor AS cur ON cur.campaign_id = c.id
    WHERE c.state = 'in_treatment' AND cur.next_idx < cur.ntasks
)
SELECT project, grid_user, sum(slot_s) AS slot_s, sum(running) AS running, sum(waiting) AS waiting
FROM had GROUP BY 1, 2 HAVING sum(slot_s) > 0 OR sum(waiting) > 0
ORDER BY 3 DESC, 1, 2;
