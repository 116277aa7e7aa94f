-- States of jobs that go on; returns what really moved.
WITH news AS (
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::float8[], $4::text[]) AS n (job_id, state, started_ago, node)
), old AS (
    SELECT l.job_id, l.state, l.started_at FROM live AS l JOIN news USING (job_id)
), moved AS (
    UPDATE live AS l
    SET state = n.state::job_state, changed_at = now(), node = coalesce(nullif(n.node, ''), l.node),
        started_at = CASE WHEN n.state = 'running'
            THEN coalesce(l.started_at, now() - n.started_ago * interval '1 second') ELSE l.started_at END
    FROM news AS n
    WHERE l.job_id = n.job_id AND l.state <> n.state::job_state
    RETURNING l.job_id, l.campaign_id, l.cluster_id, l.kind, l.slots, l.state, l.started_at
)
SELECT m.job_id, m.campaign_id, m.cluster_id, m.kind::text, m.slots, old.state::text AS old_state,
    m.state::text AS new_state, extract(epoch FROM m.started_at) AS started,
    extract(epoch FROM old.started_at) AS old_started
FROM moved AS m JOIN old USING (job_id)
