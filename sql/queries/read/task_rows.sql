-- Every attempt of tasks $2 of campaign $1, by task and attempt: ended, live, and on its way to a
-- cluster; and a row without job for a task that waits to go again. Two branches read `done`
-- because its index is two partial ones.
WITH wanted AS (
    SELECT unnest($2::bigint[]) AS idx
), open_batches AS (
    -- The index of open batches is small: all of it is read, whatever cluster they are for.
    SELECT id, kind, cluster_id, first_job_id, first_idx, n, idxs, created_at, state
    FROM batches
    WHERE campaign_id = $1 AND state IN ('intended', 'in_doubt')
      AND kind IN ('task', 'replica', 'test')
), attempts AS (
    SELECT idx, job_id, remote_id, state::text AS state, cluster_id, attempt::int AS attempt, kind,
           account::text AS account, code, wait_status, submitted_at, started_at, ended_at, node,
           counted, message, batch_id
    FROM done WHERE campaign_id = $1 AND idx = ANY ($2::bigint[]) AND counted
    UNION ALL
    SELECT idx, job_id, remote_id, state::text, cluster_id, attempt, kind, account::text, code,
           wait_status, submitted_at, started_at, ended_at, node, counted, message, batch_id
    FROM done WHERE campaign_id = $1 AND idx = ANY ($2::bigint[]) AND NOT counted
    UNION ALL
    SELECT idx, job_id, remote_id, state::text, cluster_id, attempt, kind, NULL, NULL, NULL,
           submitted_at, started_at, NULL, node, false, NULL, batch_id
    FROM live WHERE campaign_id = $1 AND idx = ANY ($2::bigint[])
    UNION ALL
    SELECT coalesce(b.idxs[w.element + 1], b.first_idx + w.element), b.first_job_id + w.element, NULL,
           'launching', b.cluster_id, 32767, b.kind, NULL,
           CASE WHEN b.state = 'in_doubt' THEN 'SUBMIT_IN_DOUBT' END, NULL, b.created_at, NULL, NULL,
           NULL, false, NULL, b.id
    FROM open_batches AS b
    CROSS JOIN LATERAL (
        SELECT wanted.idx - b.first_idx AS element FROM wanted
        WHERE b.first_idx IS NOT NULL AND wanted.idx >= b.first_idx AND wanted.idx < b.first_idx + b.n
        UNION ALL
        SELECT array_position(b.idxs, wanted.idx) - 1 FROM wanted
        WHERE b.idxs IS NOT NULL AND wanted.idx = ANY (b.idxs)
    ) AS w
    UNION ALL
    SELECT idx, NULL, NULL, 'pending', NULL, 32767, 'task', NULL, why, NULL, since, NULL, NULL, NULL,
           false, NULL, NULL
    FROM retry WHERE campaign_id = $1 AND idx = ANY ($2::bigint[])
)
SELECT a.idx, a.job_id, a.remote_id, a.state, a.cluster_id, cl.name AS cluster, a.attempt, a.kind,
       a.account, a.code, a.wait_status, extract(epoch FROM a.submitted_at) AS submitted,
       extract(epoch FROM a.started_at) AS started, extract(epoch FROM a.ended_at) AS ended, a.node,
       a.counted, a.message, a.batch_id, t.job_id IS NOT NULL AS to_fix
FROM attempts AS a
LEFT JOIN clusters AS cl ON cl.id = a.cluster_id
LEFT JOIN tofix AS t ON t.campaign_id = $1 AND t.idx = a.idx AND t.job_id = a.job_id
ORDER BY a.idx, a.job_id NULLS LAST;
