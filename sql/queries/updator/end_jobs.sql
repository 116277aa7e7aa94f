-- The end of jobs: from live to done. The first success of a task counts; the unique index decides,
-- whatever copies of it end at the same moment.
WITH ends AS (
    SELECT * FROM unnest($1::bigint[], $2::boolean[], $3::text[], $4::text[], $5::int[], $6::float8[], $7::float8[],
        $8::text[], $9::text[])
        AS e (job_id, ok, account, code, wait_status, started_ago, ended_ago, node, message)
), gone AS (
    DELETE FROM live AS l USING ends AS e WHERE l.job_id = e.job_id
    RETURNING l.job_id, l.campaign_id, l.idx, l.kind, l.batch_id, l.cluster_id, l.attempt, l.slots, l.state,
        l.submitted_at, l.started_at, l.remote_id, l.node, l.element
), rows AS (
    SELECT g.*, e.ok, e.account, e.code, e.wait_status, e.message,
        coalesce(nullif(e.node, ''), g.node) AS at_node,
        now() - e.ended_ago * interval '1 second' AS ended,
        CASE WHEN e.started_ago IS NULL THEN g.started_at ELSE now() - e.started_ago * interval '1 second' END AS started
    FROM gone AS g JOIN ends AS e USING (job_id)
), counted AS (
    INSERT INTO done (job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, counted, state, account, code,
        wait_status, slots, submitted_at, started_at, ended_at, node, remote_id, message)
    SELECT job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, true, 'terminated', 'none', '', wait_status,
        slots, submitted_at, started, ended, at_node, remote_id, NULL
    FROM rows WHERE ok AND idx >= 0
    ON CONFLICT (campaign_id, idx) WHERE counted DO NOTHING
    RETURNING job_id
), others AS (
    INSERT INTO done (job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, counted, state, account, code,
        wait_status, slots, submitted_at, started_at, ended_at, node, remote_id, message)
    SELECT r.job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, false,
        CASE WHEN ok THEN 'terminated' ELSE 'event' END::job_state, account::account, code, wait_status, slots,
        submitted_at, started, ended, at_node, remote_id, message
    FROM rows AS r WHERE NOT EXISTS (SELECT FROM counted AS c WHERE c.job_id = r.job_id)
    RETURNING job_id
), no_more_kills AS (
    DELETE FROM kills AS k USING gone AS g WHERE k.job_id = g.job_id
), no_more_requests AS (
    DELETE FROM job_requests AS q USING gone AS g WHERE q.job_id = g.job_id
)
SELECT r.job_id, r.campaign_id, r.cluster_id, r.idx, r.kind::text, r.slots, r.state::text AS old_state, r.ok,
    c.job_id IS NOT NULL AS counted, extract(epoch FROM r.started_at) AS live_started,
    extract(epoch FROM r.started) AS started, extract(epoch FROM r.ended) AS ended
FROM rows AS r LEFT JOIN counted AS c USING (job_id)
