-- name: AddTries
-- What failed jobs have used up of their tasks' tries. REQUIRES: each task once.
INSERT INTO tries AS t (campaign_id, idx, attempts, program, user_requeues, infrastructure,
    preemption, our_kill, uncharged_here, last_cluster, walltime_x, memory_x, least_walltime_s)
SELECT e.campaign_id, e.idx, e.attempts, e.program, e.user_requeues, e.infrastructure, e.preemption,
    e.our_kill, e.infrastructure + e.preemption, e.cluster_id, e.walltime_x,
    e.memory_x, e.least_walltime_s
FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::int[], $5::int[], $6::int[], $7::int[],
        $8::int[], $9::int[], $10::float8[], $11::float8[], $12::int[])
    AS e (campaign_id, idx, attempts, program, user_requeues, infrastructure, preemption, our_kill,
        cluster_id, walltime_x, memory_x, least_walltime_s)
ON CONFLICT (campaign_id, idx) DO UPDATE SET
    attempts = t.attempts + excluded.attempts,
    program = t.program + excluded.program,
    user_requeues = t.user_requeues + excluded.user_requeues,
    infrastructure = t.infrastructure + excluded.infrastructure,
    preemption = t.preemption + excluded.preemption,
    our_kill = t.our_kill + excluded.our_kill,
    uncharged_here = excluded.uncharged_here
        + CASE WHEN t.last_cluster = excluded.last_cluster THEN t.uncharged_here ELSE 0 END,
    last_cluster = excluded.last_cluster,
    walltime_x = t.walltime_x * excluded.walltime_x,
    memory_x = t.memory_x * excluded.memory_x,
    least_walltime_s = greatest(t.least_walltime_s, excluded.least_walltime_s);

-- name: AttemptsOfTasks
-- returns: idx int64, job_id int64?, remote_id text?, state text, cluster_id int64?,
-- returns: cluster text?, attempt int, kind text, exit_class text?, code text?,
-- returns: wait_status int?, submitted double?, started double?, ended double?, node text?,
-- returns: counted bool, message text?, batch_id int64?, needs_attention bool,
-- returns: cpu_s double?, peak_mb double?, read_mb double?, written_mb double?,
-- returns: transfer_s double?
-- Every attempt of tasks $2 of campaign $1, by task and attempt: ended, live, and on its way to a
-- cluster; and a row without job for a task that waits to be retried. Two branches read `done`
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
           exit_class::text AS exit_class, code, wait_status, submitted_at, started_at, ended_at,
               node,
           counted, message, batch_id, cpu_s, peak_mb, read_mb, written_mb,
           transfer_s
    FROM done WHERE campaign_id = $1 AND idx = ANY ($2::bigint[]) AND counted
    UNION ALL
    SELECT idx, job_id, remote_id, state::text, cluster_id, attempt, kind, exit_class::text, code,
           wait_status, submitted_at, started_at, ended_at, node, counted, message, batch_id,
           cpu_s, peak_mb, read_mb, written_mb, transfer_s
    FROM done WHERE campaign_id = $1 AND idx = ANY ($2::bigint[]) AND NOT counted
    UNION ALL
    SELECT idx, job_id, remote_id, state::text, cluster_id, attempt, kind, NULL, NULL, NULL,
           submitted_at, started_at, NULL, node, false, NULL, batch_id,
           NULL, NULL, NULL, NULL, NULL
    FROM live WHERE campaign_id = $1 AND idx = ANY ($2::bigint[])
    UNION ALL
    SELECT coalesce(b.idxs[w.element + 1], b.first_idx + w.element), b.first_job_id + w.element,
        NULL,
           'launching', b.cluster_id, 32767, b.kind, NULL,
           CASE WHEN b.state = 'in_doubt' THEN 'SUBMIT_IN_DOUBT' END, NULL, b.created_at, NULL,
               NULL,
           NULL, false, NULL, b.id, NULL, NULL, NULL, NULL, NULL
    FROM open_batches AS b
    CROSS JOIN LATERAL (
        SELECT wanted.idx - b.first_idx AS element FROM wanted
        WHERE b.first_idx IS NOT NULL AND wanted.idx >= b.first_idx
            AND wanted.idx < b.first_idx + b.n
        UNION ALL
        SELECT array_position(b.idxs, wanted.idx) - 1 FROM wanted
        WHERE b.idxs IS NOT NULL AND wanted.idx = ANY (b.idxs)
    ) AS w
    UNION ALL
    SELECT idx, NULL, NULL, 'pending', NULL, 32767, 'task', NULL, why, NULL, since, NULL, NULL,
        NULL,
           false, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM retry WHERE campaign_id = $1 AND idx = ANY ($2::bigint[])
)
SELECT a.idx, a.job_id, a.remote_id, a.state, a.cluster_id, cl.name AS cluster, a.attempt, a.kind,
       a.exit_class, a.code, a.wait_status, extract(epoch FROM a.submitted_at) AS submitted,
       extract(epoch FROM a.started_at) AS started, extract(epoch FROM a.ended_at) AS ended, a.node,
       a.counted, a.message, a.batch_id, t.job_id IS NOT NULL AS needs_attention,
       a.cpu_s::float8, a.peak_mb::float8, a.read_mb::float8, a.written_mb::float8,
       a.transfer_s::float8
FROM attempts AS a
LEFT JOIN clusters AS cl ON cl.id = a.cluster_id
LEFT JOIN needs_attention AS t ON t.campaign_id = $1 AND t.idx = a.idx AND t.job_id = a.job_id
ORDER BY a.idx, a.job_id NULLS LAST;

-- name: AttemptsSoFar
-- returns: idx int64, attempts int
-- How often these tasks of campaign $1 have been tried.
SELECT idx, attempts FROM tries WHERE campaign_id = $1 AND idx = ANY ($2::bigint[]);

-- name: AvoidedClusters
-- returns: campaign_id int64, cluster_id int, n int
-- Tasks to be retried that keep away from a cluster for now.
SELECT r.campaign_id, a.cluster_id, count(*)::int AS n
FROM retry AS r, unnest(r.avoid) AS a (cluster_id)
WHERE r.campaign_id = ANY ($1::bigint[]) AND r.since > now() - interval '2 minutes'
GROUP BY 1, 2;

-- name: BoostTasks
-- returns: n int64
-- FBS-13: tasks $2 of campaign $1, which TakeFromCursor has taken, are sent before all its others,
-- and so are those of $3 that were to be retried; how many.
WITH moved AS (
    INSERT INTO retry (campaign_id, idx, rank, why)
    SELECT $1, idx, -1, 'boosted by its user' FROM unnest($2::bigint[]) AS t (idx)
    RETURNING idx
), retried AS (
    UPDATE retry SET rank = -1, since = now()
    WHERE campaign_id = $1 AND idx = ANY ($3::bigint[]) AND rank >= 0
    RETURNING idx
)
SELECT (SELECT count(*) FROM moved) + (SELECT count(*) FROM retried) AS n;

-- name: DoneTasks
-- returns: idx int64
-- The next $3 tasks after $2 of campaign $1 that are done.
SELECT idx FROM done WHERE campaign_id = $1 AND idx > $2 AND counted ORDER BY idx LIMIT $3;

-- name: EndedTasks
-- returns: idx int64
-- The next $3 tasks after $2 of campaign $1 with a job that has ended.
SELECT DISTINCT idx FROM (
    (SELECT idx FROM done WHERE campaign_id = $1 AND idx > $2 AND counted ORDER BY idx LIMIT $3)
    UNION ALL
    (SELECT idx FROM done WHERE campaign_id = $1 AND idx > $2 AND NOT counted ORDER BY idx LIMIT $3)
) AS ended ORDER BY idx LIMIT $3;

-- name: FailedTasks
-- returns: idx int64
-- The next $3 tasks after $2 of campaign $1 whose tries are spent.
SELECT idx FROM needs_attention WHERE campaign_id = $1 AND idx > $2 ORDER BY idx LIMIT $3;

-- name: FinishedAmong
-- returns: idx int64
-- Those of tasks $2 of campaign $1 that are over: done, or failed with their tries spent.
SELECT idx FROM done WHERE campaign_id = $1 AND idx = ANY ($2::bigint[]) AND counted
UNION
SELECT idx FROM needs_attention WHERE campaign_id = $1 AND idx = ANY ($2::bigint[])
ORDER BY idx;

-- name: FinishedTasks
-- returns: idx int64
-- The next $3 tasks after $2 of campaign $1 that are over: done, or failed with their tries spent.
(SELECT idx FROM done WHERE campaign_id = $1 AND idx > $2 AND counted ORDER BY idx LIMIT $3)
UNION
(SELECT idx FROM needs_attention WHERE campaign_id = $1 AND idx > $2 ORDER BY idx LIMIT $3)
ORDER BY idx LIMIT $3;

-- name: ForgetCountedTasks
-- plan: generic
-- Tasks that have succeeded are not retried, and need no attention, even if another copy failed.
WITH won AS (
    SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS w (campaign_id, idx)
), a AS (
    DELETE FROM retry AS r USING won WHERE r.campaign_id = won.campaign_id AND r.idx = won.idx
)
DELETE FROM needs_attention AS t USING won WHERE t.campaign_id = won.campaign_id
    AND t.idx = won.idx;

-- name: PutNeedsAttention
-- Tasks whose tries are used up: each with its last job and the event that names the failure.
INSERT INTO needs_attention (campaign_id, idx, job_id, event_id)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
ON CONFLICT (campaign_id, idx) DO UPDATE SET
    job_id = excluded.job_id, event_id = excluded.event_id;

-- name: PutRetries
-- Tasks that are retried: their last copy has ended without a success. One with a checkpoint on a
-- cluster avoids the others.
INSERT INTO retry (campaign_id, idx, rank, not_before, avoid, why)
SELECT campaign_id, idx, rank, now() + delay_s * interval '1 second',
    CASE WHEN stay_cluster IS NOT NULL THEN ARRAY(
            SELECT cc.cluster_id FROM campaign_clusters AS cc
            WHERE cc.campaign_id = r.campaign_id AND cc.cluster_id <> r.stay_cluster
                AND cc.left_at IS NULL)
        WHEN avoid_cluster IS NULL THEN '{}'::int[] ELSE ARRAY[avoid_cluster] END, why
FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::float8[], $5::int[], $6::text[], $7::int[])
    AS r (campaign_id, idx, rank, delay_s, avoid_cluster, why, stay_cluster)
ON CONFLICT (campaign_id, idx) DO NOTHING;

-- name: RefundTasks
-- returns: event_id int64
-- Tasks of campaign $1 that failed on cluster $2, where the campaign is held now, lose no try and
-- are retried elsewhere, if it has another. The answer: the events that no other task waits for.
WITH failed AS (
    SELECT DISTINCT idx FROM done
    WHERE campaign_id = $1 AND cluster_id = $2 AND NOT counted AND exit_class = 'program'
        AND idx >= 0
), refunded AS (
    UPDATE tries AS t SET program = 0 FROM failed AS f WHERE t.campaign_id = $1 AND t.idx = f.idx
), back AS (
    DELETE FROM needs_attention AS t USING failed AS f WHERE t.campaign_id = $1 AND t.idx = f.idx
    RETURNING t.idx, t.event_id
), moved AS (
    INSERT INTO retry (campaign_id, idx, rank, avoid, why)
    SELECT $1, idx, 0, ARRAY(SELECT $2::int WHERE EXISTS (SELECT FROM campaign_clusters AS o
        WHERE o.campaign_id = $1 AND o.cluster_id <> $2 AND o.left_at IS NULL)), 'CANARY_FAILED'
    FROM back
    ON CONFLICT DO NOTHING
)
SELECT DISTINCT b.event_id FROM back AS b
WHERE b.event_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM needs_attention AS o
    WHERE o.event_id = b.event_id AND o.idx NOT IN (SELECT idx FROM back));

-- name: RetryFailedTasks
-- returns: n int64, last int64
-- The next $4 failed tasks after $3 of campaign $1 are retried, as if they had never failed: of
-- all, or of those that wait for event $2. One statement: a task is always in exactly one place.
-- REQUIRES: the campaign is locked.
WITH failed AS (
    DELETE FROM needs_attention
    WHERE campaign_id = $1 AND idx IN (
        SELECT idx FROM needs_attention
        WHERE campaign_id = $1 AND ($2::bigint IS NULL OR event_id = $2) AND idx > $3
        ORDER BY idx LIMIT $4)
    RETURNING idx
), forgiven AS (
    UPDATE tries SET program = 0, user_requeues = 0, infrastructure = 0, preemption = 0,
        our_kill = 0, uncharged_here = 0
    FROM failed
    WHERE tries.campaign_id = $1 AND tries.idx = failed.idx
), moved AS (
    INSERT INTO retry (campaign_id, idx, rank, why)
    SELECT $1, idx, 0, 'asked for by its user' FROM failed
    ON CONFLICT (campaign_id, idx) DO NOTHING
)
SELECT count(*) AS n, coalesce(max(idx), -1) AS last FROM failed;

-- name: RetryOfCampaign
-- returns: why text
-- Why one of the tasks of campaign $1 that were sent before is sent again, the newest of some.
SELECT why FROM (SELECT why, since FROM retry
    WHERE campaign_id = $1 AND rank >= 0 LIMIT 100) AS r
ORDER BY since DESC LIMIT 1;

-- name: RetryOfTask
-- returns: wait_s double?, avoid text?, boosted bool, before int64
-- When task $2 of campaign $1 is retried, and where it would rather not; and how many go before one
-- that its user has boosted, or that was never sent.
SELECT extract(epoch FROM r.not_before - now()) AS wait_s,
       (SELECT string_agg(name, ', ' ORDER BY id) FROM clusters WHERE id = ANY (r.avoid)) AS avoid,
       coalesce(r.rank < 0, false) AS boosted,
       CASE WHEN r.rank < 0 THEN (
           SELECT count(*) FROM retry AS o
           WHERE o.campaign_id = $1 AND (o.rank, o.since, o.idx) < (r.rank, r.since, r.idx))
       ELSE greatest($2 - c.next_idx - (
               SELECT count(*) FROM boosted_tasks WHERE campaign_id = $1 AND idx < $2), 0)
           + (SELECT count(*) FROM retry WHERE campaign_id = $1 AND rank < 0)
       END AS before
FROM campaign_cursor AS c LEFT JOIN retry AS r ON r.campaign_id = c.campaign_id AND r.idx = $2
WHERE c.campaign_id = $1;

-- name: RunningTasks
-- returns: idx int64
-- The next $3 tasks after $2 of campaign $1 that run on a cluster or wait in its queue.
SELECT DISTINCT idx FROM live WHERE campaign_id = $1 AND idx > $2 ORDER BY idx LIMIT $3;

-- name: TaskCount
-- returns: n int64
-- How many tasks campaign $1 has.
SELECT coalesce((SELECT ntasks FROM campaign_cursor WHERE campaign_id = $1), 0) AS n;

-- name: TasksLeft
-- returns: retrying bool, in_flight bool
-- Exactly, whether tasks of campaign $1 are to be retried (again) or in flight.
-- REQUIRES: its cursor is locked.
SELECT EXISTS (SELECT FROM retry WHERE campaign_id = $1) AS retrying,
    EXISTS (SELECT FROM live WHERE campaign_id = $1 AND idx >= 0)
    OR EXISTS (SELECT FROM batches WHERE campaign_id = $1 AND state IN ('intended', 'in_doubt')
        AND kind IN ('task', 'replica', 'test')) AS in_flight;

-- name: UnsentTasks
-- returns: id int64, waiting int64
-- Tasks that no job was sent for, of the campaigns at work.
SELECT c.id, u.waiting + (SELECT count(*) FROM retry AS r WHERE r.campaign_id = c.id)
    AS waiting
FROM campaigns AS c JOIN campaign_cursor AS u ON u.campaign_id = c.id
WHERE c.state IN ('in_treatment', 'paused');

-- name: WaitingTasks
-- returns: idx int64
-- The next $3 tasks after $2 of campaign $1 that wait: to be retried, and those the cursor has not
-- reached.
(SELECT idx FROM retry WHERE campaign_id = $1 AND idx > $2 ORDER BY idx LIMIT $3)
UNION ALL
(SELECT s.idx
 FROM campaign_cursor AS c, generate_series(greatest(c.next_idx, $2 + 1),
    least(c.ntasks, greatest(c.next_idx, $2 + 1) + $3 + c.boosted) - 1) AS s (idx)
 WHERE c.campaign_id = $1 AND NOT EXISTS (
    SELECT FROM boosted_tasks AS b WHERE b.campaign_id = $1 AND b.idx = s.idx))
ORDER BY idx LIMIT $3;
