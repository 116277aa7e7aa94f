-- name: ClaimCandidates
-- returns: campaign_id int64, kind text, n int, slots int, max_jobs int?,
-- returns: in_flight_kind int64, in_flight int64, fresh int64, cluster_login text,
-- returns: tasks_per_job int, retried int64
-- plan: generic
-- The grants of cluster $1 in the order of the plan, with what is in flight against them now, or
-- was when the plan was made: what has ended since makes room in the next plan. An epilogue also
-- runs where a failure of the program or of the prologue blocks the placement: it cleans up.
-- Without a valid token, or refused, it cannot. It and a prologue wait for each other, and tasks
-- that were added meanwhile for both: what they need may be gone.
-- Each is looked up from the grants on: they are few, and PostgreSQL would begin with every
-- campaign of the cluster.
SELECT g.campaign_id, g.kind::text, g.n, p.slots, p.max_jobs,
    coalesce(f.same, 0)::bigint + greatest(0, coalesce(f.ended, 0)::bigint - g.ended)
        AS in_flight_kind,
    coalesce(f.all_kinds, 0)::bigint AS in_flight,
    p.fresh, p.cluster_login,
    coalesce(e.tasks_per_job, 1) AS tasks_per_job,
    (SELECT count(*) FROM (SELECT FROM retry
        WHERE campaign_id = g.campaign_id ORDER BY idx LIMIT 1000) AS few)
        AS retried
FROM grants AS g
CROSS JOIN LATERAL (
    SELECT cc.slots, cc.max_jobs, cc.cluster_login, cur.waiting AS fresh
    FROM campaigns AS c
    JOIN campaign_clusters AS cc ON cc.campaign_id = c.id AND cc.cluster_id = g.cluster_id
        AND (cc.left_at IS NULL OR g.kind = 'epilogue')
    JOIN campaign_cursor AS cur ON cur.campaign_id = c.id
    WHERE c.id = g.campaign_id
        AND ((c.wanted = 'in_treatment' AND c.state = 'in_treatment')
            OR (c.state = 'cancelled' AND g.kind = 'epilogue'))
        AND (g.kind = 'epilogue') = (c.finishing_since IS NOT NULL)
        AND (cc.prologue IS NULL OR g.kind IN ('prologue', 'epilogue')
            OR (SELECT l.prologue FROM placements AS l
                WHERE l.campaign_id = g.campaign_id AND l.cluster_id = g.cluster_id) = 'done')
    OFFSET 0
) AS p
LEFT JOIN LATERAL (
    SELECT sum(k.jobs) FILTER (WHERE k.in_flight AND k.kind = g.kind) AS same,
        sum(k.jobs) FILTER (WHERE NOT k.in_flight AND k.kind = g.kind) AS ended,
        sum(k.jobs) FILTER (WHERE k.in_flight AND k.kind IN ('task', 'replica', 'test'))
            AS all_kinds,
        sum(k.jobs) FILTER (WHERE k.in_flight AND (k.kind = 'epilogue' AND g.kind <> 'epilogue'
            OR k.kind = 'prologue' AND g.kind = 'epilogue')) AS kept_off
    FROM job_counts AS k
    WHERE k.campaign_id = g.campaign_id AND k.cluster_id = g.cluster_id
) AS f ON true
LEFT JOIN forecasts AS e ON e.campaign_id = g.campaign_id AND e.cluster_id = g.cluster_id
WHERE g.cluster_id = $1
    AND coalesce(f.kept_off, 0) = 0
    AND (SELECT count(*) FROM placement_blocks AS b
        WHERE b.campaign_id = g.campaign_id AND b.cluster_id = g.cluster_id
            AND (g.kind <> 'epilogue' OR b.code IN ('SUBMIT_REFUSED', 'TOKEN_MISSING'))) = 0
ORDER BY g.rank, g.campaign_id;

-- name: ClaimCluster
-- returns: enabled bool, drained bool, mode text, mode_limit int?, max_running int?,
-- returns: hours text?, max_calls_per_min int?, half_open_limit int?, node_due bool
-- plan: generic
-- What its operator allows on a cluster, locked so that every later claim sees a drain that has
-- returned (and the drain waits for the claims under way). CiGri 3's event disables it, too.
-- node_due: an excluded node may be tried.
SELECT c.enabled,
    c.drained OR c.kill_all OR EXISTS (
        SELECT FROM events AS e
        WHERE e.state = 'open' AND e.campaign_id IS NULL AND e.cluster_id = c.id
            AND e.code = 'CLUSTER_MANUALLY_DISABLED') AS drained,
    c.mode::text, c.mode_limit, c.max_running, c.hours, c.max_calls_per_min, a.half_open_limit,
    EXISTS (SELECT FROM bad_nodes AS n WHERE n.cluster_id = c.id AND n.until <= now()) AS node_due
FROM clusters AS c
LEFT JOIN api_load AS a ON a.api = c.api
WHERE c.id = $1
FOR SHARE OF c;

-- name: ClaimFresh
-- returns: campaign_id int64, first_idx int64?, n int64, at_boosted bool
-- plan: generic
-- Takes the next $2[i] tasks of each campaign $1[i]. One whose cursor somebody else has is left out
-- (no first_idx): whoever waited for it would keep all others of this cluster waiting.
-- `at_boosted`: PassBoosted must follow, in this transaction.
-- REQUIRES: each campaign once in $1, else its range goes out twice; so it would if it were
-- computed from a row read before its lock: FOR UPDATE comes first. Constraints are checked on the
-- row as the statement's snapshot has it, before its last version is looked for: what they compare
-- is set to what was locked.
WITH wanted AS (
    SELECT * FROM unnest($1::bigint[], $2::int[]) AS w (campaign_id, n)
), range AS (
    SELECT c.campaign_id, c.next_idx AS first_idx,
        least(c.next_idx + w.n, c.ntasks, c.next_boosted) AS end_idx,
        c.ntasks, c.boosted, c.next_boosted
    FROM campaign_cursor AS c
    JOIN wanted AS w USING (campaign_id)
    FOR UPDATE OF c SKIP LOCKED
), moved AS (
    UPDATE campaign_cursor AS c
    SET next_idx = range.end_idx, ntasks = range.ntasks, boosted = range.boosted,
        next_boosted = range.next_boosted
    FROM range
    WHERE c.campaign_id = range.campaign_id AND range.end_idx > range.first_idx
)
SELECT w.campaign_id, r.first_idx, coalesce(r.end_idx - r.first_idx, 0) AS n,
    coalesce(r.end_idx = r.next_boosted, false) AS at_boosted
FROM wanted AS w LEFT JOIN range AS r USING (campaign_id)
WHERE r.end_idx > r.first_idx OR r.campaign_id IS NULL;

-- name: ClaimPrologues
-- returns: campaign_id int64
-- plan: generic
-- Those of campaigns $1 that go on, locked: the updator ends none of them until it can see what is
-- claimed here. One that somebody else has is left out.
SELECT id AS campaign_id FROM campaigns
WHERE id = ANY ($1::bigint[]) AND state = 'in_treatment' AND finishing_since IS NULL
FOR SHARE SKIP LOCKED;

-- name: ClaimReplicas
-- returns: idx int64, attempt int
-- Up to $2 tasks of campaign $1 that run in one copy only, the longest first; those that run on
-- another cluster than $3 come before the others (CIG-30). A task that another copy has done gets
-- no third one while the loser is being killed. A task gets none either when its copies have failed
-- as often as the campaign allows copies, or were lost ten times more: it may hang.
-- A job whose end is being written gets none: LockEnds.
WITH single AS MATERIALIZED (
    SELECT l.idx, max(l.attempt) + 1 AS attempt, max(l.job_id) AS job_id,
        bool_or(l.cluster_id = $3) AS here, min(l.started_at) AS since
    FROM live AS l
    JOIN campaigns AS c ON c.id = l.campaign_id
    WHERE l.campaign_id = $1 AND l.kind IN ('task', 'replica')
        AND NOT EXISTS (SELECT FROM done AS d
            WHERE d.campaign_id = $1 AND d.idx = l.idx AND d.counted)
        AND NOT EXISTS (
            SELECT FROM batches AS b
            WHERE b.campaign_id = $1 AND b.kind = 'replica' AND b.state IN ('intended', 'in_doubt')
                AND l.idx = ANY (b.idxs))
        AND (
            SELECT count(*) FILTER (WHERE b.exit_class = 'program') < c.max_replicas
                AND count(*) < 10 + c.max_replicas
            FROM done AS b
            WHERE b.campaign_id = $1 AND b.idx = l.idx AND NOT b.counted AND b.kind = 'replica')
    GROUP BY l.idx
    HAVING count(*) = 1
    ORDER BY here, since NULLS LAST, l.idx
    LIMIT $2
)
SELECT s.idx, s.attempt
FROM single AS s JOIN live AS l ON l.job_id = s.job_id
ORDER BY s.here, s.since NULLS LAST, s.idx
FOR KEY SHARE OF l SKIP LOCKED;

-- name: ClaimRetry
-- returns: campaign_id int64, idx int64, attempt int, walltime_x double, memory_x double,
-- returns: least_walltime_s int?, alone bool
-- plan: generic
-- Takes tasks to be retried of each campaign $1[i] for up to $2[i] jobs of $5[i] tasks on cluster
-- $4; those of rank 1 (exit code 67) only when the campaign has no fresh task left ($3[i]), and but
-- for boosted ones no more than $6[i] jobs.
-- REQUIRES: each campaign once.
-- A task avoids the clusters on which it failed for two minutes, then takes any. `alone`: it shares
-- no job with others, since something else than a kill has ended one of its own, or it needs more
-- time than the others. PostgreSQL cannot know that they are few: each is looked up from the first
-- on, and deleted where it was found.
WITH locked AS (
    SELECT r.place,
        CASE WHEN r.rank < 0 THEN w.n ELSE w.again END::bigint * w.tasks_per_job AS room,
        sum(CASE WHEN coalesce(t.alone, false) THEN w.tasks_per_job ELSE 1 END)
            OVER (PARTITION BY r.campaign_id ORDER BY r.rank, r.since, r.idx) AS taken
    FROM unnest($1::bigint[], $2::int[], $3::boolean[], $5::int[], $6::int[])
        AS w (campaign_id, n, no_fresh, tasks_per_job, again)
    CROSS JOIN LATERAL (
        SELECT t.ctid AS place, t.campaign_id, t.idx, t.rank, t.since
        FROM retry AS t
        WHERE t.campaign_id = w.campaign_id AND t.not_before <= now()
            AND t.rank <= w.no_fresh::int  -- with the order, the index retry_in_order
            AND NOT ($4 = ANY (t.avoid) AND t.since > now() - interval '2 minutes')
        ORDER BY t.rank, t.since, t.idx
        LIMIT w.n::bigint * w.tasks_per_job
        FOR UPDATE SKIP LOCKED
    ) AS r
    LEFT JOIN LATERAL (
        SELECT t.program + t.user_requeues + t.infrastructure > 0
            OR t.least_walltime_s IS NOT NULL AS alone
        FROM tries AS t WHERE t.campaign_id = r.campaign_id AND t.idx = r.idx OFFSET 0
    ) AS t ON true
), taken AS (
    DELETE FROM retry WHERE ctid = ANY (ARRAY(SELECT place FROM locked WHERE taken <= room))
    RETURNING campaign_id, idx
)
SELECT taken.campaign_id, taken.idx, coalesce(t.attempts, 0) + 1 AS attempt,
    coalesce(t.walltime_x, 1) AS walltime_x, coalesce(t.memory_x, 1) AS memory_x,
    t.least_walltime_s,
    coalesce(t.program + t.user_requeues + t.infrastructure > 0
        OR t.least_walltime_s IS NOT NULL, false) AS alone
FROM taken
LEFT JOIN LATERAL (
    SELECT * FROM tries AS t WHERE t.campaign_id = taken.campaign_id AND t.idx = taken.idx OFFSET 0
) AS t ON true
ORDER BY taken.campaign_id, taken.idx;

-- name: ClusterInFlight
-- returns: jobs int64, slots int64
-- Jobs of ours in flight on a cluster, all campaigns.
SELECT coalesce(sum(k.jobs), 0)::bigint AS jobs, coalesce(sum(k.slots), 0)::bigint AS slots
FROM campaigns AS c
JOIN jobs_in_flight AS k ON k.campaign_id = c.id AND k.cluster_id = $1
WHERE c.state IN ('in_treatment', 'paused');

-- name: ClustersWithWork
-- returns: cluster_id int64
-- Clusters for which the plan grants something, that have a batch of unknown outcome or one on
-- hold, that were not asked since a restore, or where campaigns wait for a token.
SELECT cluster_id FROM grants
UNION
SELECT cluster_id FROM batches WHERE state IN ('intended', 'in_doubt')
UNION
SELECT cluster_id FROM batches WHERE NOT released AND state = 'recorded'
UNION
SELECT cluster_id FROM still_held
UNION
SELECT cluster_id FROM restored_clusters
UNION
SELECT cluster_id FROM events WHERE state = 'open' AND code = 'TOKEN_MISSING';

-- name: PassBoosted
-- The cursors of campaigns $1 pass the boosted tasks that they have come to.
-- REQUIRES: the cursors are locked, by an earlier statement: what somebody has boosted before that
-- lock must be seen here.
WITH RECURSIVE run (campaign_id, idx) AS (
    SELECT campaign_id, next_idx - 1 FROM campaign_cursor WHERE campaign_id = ANY ($1::bigint[])
    UNION ALL
    SELECT t.campaign_id, t.idx
    FROM run JOIN boosted_tasks AS t ON t.campaign_id = run.campaign_id AND t.idx = run.idx + 1
), passed AS (
    DELETE FROM boosted_tasks AS t USING run
    WHERE t.campaign_id = run.campaign_id AND t.idx = run.idx
), last AS (
    SELECT campaign_id, max(idx) AS idx, count(*) - 1 AS n FROM run GROUP BY campaign_id
)
UPDATE campaign_cursor AS c SET next_idx = last.idx + 1, boosted = c.boosted - last.n,
    next_boosted = (SELECT min(t.idx) FROM boosted_tasks AS t
        WHERE t.campaign_id = last.campaign_id AND t.idx > last.idx)
FROM last WHERE c.campaign_id = last.campaign_id AND last.n > 0;

-- name: TakeFromCursor
-- returns: idx int64
-- Tasks $2 of campaign $1 that the cursor would still send, which it does no more: these.
-- REQUIRES: the cursor is locked, by an earlier statement; PassBoosted follows.
WITH taken AS (
    INSERT INTO boosted_tasks (campaign_id, idx)
    SELECT DISTINCT c.campaign_id, t.idx
    FROM campaign_cursor AS c, unnest($2::bigint[]) AS t (idx)
    WHERE c.campaign_id = $1 AND t.idx >= c.next_idx AND t.idx < c.ntasks
    ON CONFLICT DO NOTHING
    RETURNING idx
), counted AS (
    UPDATE campaign_cursor AS c
    SET boosted = c.boosted + t.n, next_boosted = least(c.next_boosted, t.first)
    FROM (SELECT count(*) AS n, min(idx) AS first FROM taken) AS t
    WHERE c.campaign_id = $1 AND t.n > 0
)
SELECT idx FROM taken ORDER BY idx;
