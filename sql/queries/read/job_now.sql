-- Job $1, an attempt of task $3 of campaign $2: as it is on its cluster, or as it ended.
SELECT job_id, remote_id, state::text AS state, attempt::int, slots, NULL AS account, NULL AS code,
       NULL::int AS wait_status, extract(epoch FROM submitted_at) AS submitted,
       extract(epoch FROM started_at) AS started, NULL AS ended, node, NULL AS message, false AS counted
FROM live WHERE job_id = $1
UNION ALL
SELECT job_id, remote_id, state::text, attempt, slots, account::text, code, wait_status,
       extract(epoch FROM submitted_at), extract(epoch FROM started_at), extract(epoch FROM ended_at),
       node, message, counted
FROM done WHERE campaign_id = $2 AND idx = $3 AND counted AND job_id = $1
UNION ALL
SELECT job_id, remote_id, state::text, attempt, slots, account::text, code, wait_status,
       extract(epoch FROM submitted_at), extract(epoch FROM started_at), extract(epoch FROM ended_at),
       node, message, counted
FROM done WHERE campaign_id = $2 AND idx = $3 AND NOT counted AND job_id = $1;
