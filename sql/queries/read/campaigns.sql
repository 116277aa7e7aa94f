-- Campaigns with their numbers, by id: number $1 (or NULL), of user $2 (or NULL), in a state of $3;
-- at most $4 after the first $5. Nothing is counted that grows with what is done: the numbers come
-- from the cursor and the counters; retry and tofix are counted up to 100,001 (read_campaigns.cc).
WITH page AS (
    SELECT * FROM campaigns
    WHERE ($1::bigint IS NULL OR id = $1) AND ($2::text IS NULL OR grid_user = $2)
      AND state = ANY ($3::campaign_state[])
    ORDER BY id LIMIT $4 OFFSET $5
)
SELECT p.id, p.name, p.grid_user, p.type, p.project, p.priority, p.sla_group, p.state, p.wanted,
       p.state_reason, p.nb_params, p.first_task_id, p.format, p.notes, p.max_tries, p.max_replicas,
       extract(epoch FROM p.submission_time) AS submission_time,
       extract(epoch FROM p.completion_time) AS completion_time,
       p.finishing_since IS NOT NULL AS finishing,
       coalesce(c.ntasks, 0) AS ntasks, coalesce(c.next_idx, 0) AS next_idx,
       n.done, n.launching, n.submitted, n.remote_waiting, n.running, n.ended_badly, n.program,
       n.again, n.preempted, n.infrastructure, n.our_kill, n.duplicate, r.n AS retry, t.n AS to_fix,
       EXISTS (SELECT FROM events AS e WHERE e.campaign_id = p.id AND e.state = 'open'
                                         AND e.class IN ('job', 'campaign', 'cluster')) AS has_events
FROM page AS p
LEFT JOIN campaign_cursor AS c ON c.campaign_id = p.id
CROSS JOIN LATERAL (
    SELECT coalesce(sum(k.n) FILTER (WHERE state = 'terminated'), 0)::bigint AS done,
           coalesce(sum(k.n) FILTER (WHERE state = 'launching'), 0)::bigint AS launching,
           coalesce(sum(k.n) FILTER (WHERE state = 'submitted'), 0)::bigint AS submitted,
           coalesce(sum(k.n) FILTER (WHERE state = 'remote_waiting'), 0)::bigint AS remote_waiting,
           coalesce(sum(k.n) FILTER (WHERE state = 'running'), 0)::bigint AS running,
           coalesce(sum(k.n) FILTER (WHERE state = 'event'), 0)::bigint AS ended_badly,
           coalesce(sum(k.n) FILTER (WHERE state = 'program'), 0)::bigint AS program,
           coalesce(sum(k.n) FILTER (WHERE state = 'again'), 0)::bigint AS again,
           coalesce(sum(k.n) FILTER (WHERE state = 'preemption'), 0)::bigint AS preempted,
           coalesce(sum(k.n) FILTER (WHERE state = 'infrastructure'), 0)::bigint AS infrastructure,
           coalesce(sum(k.n) FILTER (WHERE state = 'our_kill'), 0)::bigint AS our_kill,
           coalesce(sum(k.n) FILTER (WHERE state = 'duplicate'), 0)::bigint AS duplicate
    FROM counters AS k
    WHERE k.campaign_id = p.id AND k.kind IN ('task', 'replica', 'test')
) AS n
CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (SELECT FROM retry WHERE campaign_id = p.id LIMIT 100001) AS few
) AS r
CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (SELECT FROM tofix WHERE campaign_id = p.id LIMIT 100001) AS few
) AS t
ORDER BY p.id;
