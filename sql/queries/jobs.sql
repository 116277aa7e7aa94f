-- name: AddCounters
-- plan: generic
-- Adds to the rows of a module ($1) in the counters. REQUIRES: each key once in a call.
INSERT INTO counters AS c (campaign_id, cluster_id, kind, state, writer, n, slots, sum_start,
    riders)
SELECT d.campaign_id, d.cluster_id, d.kind::batch_kind, d.state, $1, d.n, d.slots, d.sum_start,
    d.riders
FROM unnest($2::bigint[], $3::int[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
        $8::float8[], $9::bigint[])
    AS d (campaign_id, cluster_id, kind, state, n, slots, sum_start, riders)
ORDER BY 1, 2, 3, 4  -- one order for all writers: two of them never deadlock
ON CONFLICT (campaign_id, cluster_id, kind, state, writer) DO UPDATE SET
    n = c.n + excluded.n,
    riders = c.riders + excluded.riders,
    slots = c.slots + excluded.slots,
    sum_start = c.sum_start + excluded.sum_start;

-- name: CampaignsOnLocalClusters
-- returns: campaign_id text
-- Campaigns whose jobs run on the clusters of `cigri up`.
SELECT l.campaign_id::text AS campaign_id
FROM live AS l JOIN clusters AS k ON k.id = l.cluster_id
WHERE l.state = 'running' AND k.dedicated
GROUP BY l.campaign_id ORDER BY l.campaign_id;

-- name: CampaignWaits
-- returns: cluster_id int, mean_s double, p90_s double
-- How long the tasks of campaign $1 that are done have waited, from its submission to the start of
-- the job that counts, by cluster. Reads all of them.
SELECT d.cluster_id, avg(w.s) AS mean_s, percentile_cont(0.9) WITHIN GROUP (ORDER BY w.s) AS p90_s
FROM campaigns AS c JOIN done AS d ON d.campaign_id = c.id AND d.counted
CROSS JOIN LATERAL (
    SELECT extract(epoch FROM d.started_at - c.submission_time)::float8 AS s
) AS w
WHERE c.id = $1 AND d.started_at IS NOT NULL
GROUP BY d.cluster_id ORDER BY d.cluster_id;

-- name: CampaignKept
-- returns: cluster_id int, jobs int64, kept_s double
-- Jobs of campaign $1 that were evicted, or at the end of their walltime, after they had been asked
-- for a checkpoint, by cluster, and how long they had run.
SELECT d.cluster_id, count(*) AS jobs,
    coalesce(sum(extract(epoch FROM d.ended_at - d.started_at)), 0)::float8 AS kept_s
FROM done AS d
JOIN campaign_clusters AS cc USING (campaign_id, cluster_id)
WHERE d.campaign_id = $1 AND NOT d.counted AND d.started_at IS NOT NULL
    AND cc.options ? 'checkpoint'
    AND (d.exit_class = 'preemption' OR (d.exit_class = 'our_kill' AND d.code = 'WALLTIME'))
GROUP BY d.cluster_id ORDER BY d.cluster_id;

-- name: CancelledInFlight
-- returns: cluster_id int, overdue bool
-- Clusters where jobs of the cancelled campaign $1 are still in flight, epilogues excepted.
-- overdue: their kill was asked for, or their batch was sent, more than $2 seconds ago.
SELECT cluster_id, bool_or(coalesce(asked_at < now() - $2 * interval '1 second', false)) AS overdue
FROM (
    SELECT l.cluster_id, k.asked_at
    FROM live AS l LEFT JOIN kills AS k USING (job_id)
    WHERE l.campaign_id = $1 AND l.kind <> 'epilogue'
    UNION ALL
    SELECT cluster_id, created_at FROM batches
    WHERE campaign_id = $1 AND state IN ('intended', 'in_doubt') AND kind <> 'epilogue'
) AS f
GROUP BY cluster_id;

-- name: EndJobs
-- plan: generic
-- returns: job_id int64, campaign_id int64, cluster_id int64, idx int64, kind text,
-- returns: slots int64, old_state text, ok bool, counted bool, live_started double?,
-- returns: started double?, ended double, submitted double, node text?, batch_id int64,
-- returns: rides bool
-- Moves jobs that have ended from live to done. The first success of a task is counted: the unique
-- index done_once decides which one it is when copies of a task end at the same moment.
WITH ends AS (
    SELECT * FROM unnest($1::bigint[], $2::boolean[], $3::text[], $4::text[], $5::int[],
            $6::float8[], $7::float8[], $8::text[], $9::text[], $10::float8[], $11::float8[],
            $12::float8[], $13::float8[], $14::float8[])
        AS e (job_id, ok, exit_class, code, wait_status, started_ago, ended_ago, node, message,
            cpu_s, peak_mb, read_mb, written_mb, transfer_s)
), gone AS (
    DELETE FROM live AS l USING ends AS e WHERE l.job_id = e.job_id
    RETURNING l.job_id, l.campaign_id, l.idx, l.kind, l.batch_id, l.cluster_id, l.attempt, l.slots,
        l.state, l.submitted_at, l.started_at, l.remote_id, l.node, l.element, l.rides
), rows AS (
    SELECT g.*, e.ok, e.exit_class, e.code, e.wait_status, e.message,
        e.cpu_s, e.peak_mb, e.read_mb, e.written_mb, e.transfer_s,
        coalesce(nullif(e.node, ''), g.node) AS at_node,
        greatest(said.ended, meant.at) AS ended,
        CASE WHEN said.started IS NOT NULL THEN greatest(said.started, meant.at) END AS started
    FROM gone AS g JOIN ends AS e USING (job_id)
    CROSS JOIN LATERAL (SELECT now() - e.ended_ago * interval '1 second' AS ended,
        CASE WHEN e.started_ago IS NULL THEN g.started_at
            ELSE now() - e.started_ago * interval '1 second' END AS started) AS said
    -- A wrong clock, or a user, may have written the times into the job's record: nothing begins
    -- much before the grid meant to send it.
    CROSS JOIN LATERAL (SELECT CASE WHEN least(said.started, said.ended) < g.submitted_at
        THEN (SELECT b.created_at - interval '1 hour' FROM batches AS b WHERE b.id = g.batch_id)
        END AS at) AS meant
), counted AS (
    INSERT INTO done (job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, counted, state,
        exit_class, code, wait_status, slots, submitted_at, started_at, ended_at, node, remote_id,
        message, cpu_s, peak_mb, read_mb, written_mb, transfer_s)
    SELECT job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, true, 'terminated',
        'none', '', wait_status, slots, submitted_at, started, ended, at_node, remote_id, NULL,
        cpu_s, peak_mb, read_mb, written_mb, transfer_s
    FROM rows WHERE ok AND idx >= 0
    ON CONFLICT (campaign_id, idx) WHERE counted DO NOTHING
    RETURNING job_id
), others AS (
    INSERT INTO done (job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, counted, state,
        exit_class, code, wait_status, slots, submitted_at, started_at, ended_at, node, remote_id,
        message, cpu_s, peak_mb, read_mb, written_mb, transfer_s)
    SELECT r.job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, false,
        CASE WHEN ok THEN 'terminated' ELSE 'event' END::job_state, exit_class::exit_class, code,
        wait_status, slots, submitted_at, started, ended, at_node, remote_id, message,
        cpu_s, peak_mb, read_mb, written_mb, transfer_s
    FROM rows AS r WHERE NOT EXISTS (SELECT FROM counted AS c WHERE c.job_id = r.job_id)
    RETURNING job_id
), no_more_kills AS (
    DELETE FROM kills AS k USING gone AS g WHERE k.job_id = g.job_id
), no_more_requests AS (
    DELETE FROM job_requests AS q USING gone AS g WHERE q.job_id = g.job_id
)
SELECT r.job_id, r.campaign_id, r.cluster_id, r.idx, r.kind::text, r.slots,
    r.state::text AS old_state, r.ok, c.job_id IS NOT NULL AS counted,
    extract(epoch FROM r.started_at) AS live_started, extract(epoch FROM r.started) AS started,
    extract(epoch FROM r.ended) AS ended, extract(epoch FROM r.submitted_at) AS submitted,
    r.at_node AS node, r.batch_id, r.rides
FROM rows AS r LEFT JOIN counted AS c USING (job_id);

-- name: EndedJobOfRemoteId
-- returns: job_id int64
-- The last of our jobs that cluster $1 (its name) called $2. Remote ids have no index (they are
-- re-issued, and 25 bytes a job are worth more than this question): it reads the whole table.
SELECT d.job_id FROM done AS d JOIN clusters AS cl ON cl.id = d.cluster_id
WHERE cl.name = $1 AND d.remote_id = $2 ORDER BY d.ended_at DESC LIMIT 1;

-- name: InfoOfEnds
-- returns: job_id int64, campaign_id int64, cluster_id int64, idx int64, kind text,
-- returns: kill_reason text, kill_detail text, test_campaign bool, max_tries int, program int,
-- returns: user_requeues int, infrastructure int, preemption int, our_kill int,
-- returns: uncharged_here int, other_clusters bool,
-- returns: other_copy bool, counted bool, program_file text, directory text, verified bool,
-- returns: walltime_x double, memory_x double, has_mem bool, auto_mem bool, moves_files bool,
-- returns: auto_walltime_s int?, retry text?, checkpoint bool
-- What the updator needs to classify the ends of the jobs $1, which have not succeeded. A copy that
-- is being sent is one, too.
-- REQUIRES: LockCopies, or its batch may be given up between here and the end of the job.
WITH sent_copies AS MATERIALIZED (
    SELECT b.campaign_id, unnest(b.idxs) AS idx FROM batches AS b
    WHERE b.state IN ('intended', 'in_doubt')
)
SELECT l.job_id, l.campaign_id, l.cluster_id, l.idx, l.kind::text,
    coalesce(k.reason, '') AS kill_reason, coalesce(k.detail, '') AS kill_detail,
    c.type = 'test' AS test_campaign, c.max_tries, coalesce(t.program, 0) AS program,
    coalesce(t.user_requeues, 0) AS user_requeues,
    coalesce(t.infrastructure, 0) AS infrastructure, coalesce(t.preemption, 0) AS preemption,
    coalesce(t.our_kill, 0) AS our_kill,
    CASE WHEN t.last_cluster = l.cluster_id THEN t.uncharged_here ELSE 0 END AS uncharged_here,
    EXISTS (SELECT FROM campaign_clusters AS o WHERE o.campaign_id = l.campaign_id
        AND o.cluster_id <> l.cluster_id AND o.left_at IS NULL) AS other_clusters,
    l.idx >= 0 AND (EXISTS (SELECT FROM live AS o WHERE o.campaign_id = l.campaign_id
            AND o.idx = l.idx AND o.job_id <> ALL ($1::bigint[]))
        OR EXISTS (SELECT FROM sent_copies AS s
            WHERE s.campaign_id = l.campaign_id AND s.idx = l.idx)) AS other_copy,
    EXISTS (SELECT FROM done AS d WHERE d.campaign_id = l.campaign_id AND d.idx = l.idx
        AND d.counted) AS counted,
    coalesce(split_part(cc.exec_file, ' ', 1), '') AS program_file,
    coalesce(nullif(cc.exec_directory, ''), '$HOME') AS directory,
    coalesce(n.verified, false) AS verified, coalesce(t.walltime_x, 1) AS walltime_x,
    coalesce(t.memory_x, 1) AS memory_x, coalesce(cc.options ? 'mem', false) AS has_mem,
    coalesce(cc.options ->> 'mem' LIKE 'auto%', false) AS auto_mem,
    coalesce(cc.options ?| ARRAY['inputs', 'outputs'] OR cc.options -> 'checkpoint' ? 'files',
        false) AS moves_files,
    CASE WHEN cc.options -> 'auto_walltime' = 'true' AND b.walltime_s < cc.walltime_s
        THEN b.walltime_s END AS auto_walltime_s,
    c.jdl ->> 'retry' AS retry, coalesce(cc.options ? 'checkpoint', false) AS checkpoint
FROM live AS l
JOIN campaigns AS c ON c.id = l.campaign_id
JOIN batches AS b ON b.id = l.batch_id
LEFT JOIN campaign_clusters AS cc
    ON cc.campaign_id = l.campaign_id AND cc.cluster_id = l.cluster_id
LEFT JOIN placements AS n ON n.campaign_id = l.campaign_id AND n.cluster_id = l.cluster_id
LEFT JOIN kills AS k ON k.job_id = l.job_id
LEFT JOIN tries AS t ON t.campaign_id = l.campaign_id AND t.idx = l.idx
WHERE l.job_id = ANY ($1::bigint[]);

-- name: InFlight
-- returns: campaign_id int64, cluster_id int, kind text, state text, n int64, slots int64,
-- returns: sum_start double
-- Jobs in flight of all campaigns, by campaign, cluster, kind and state; tasks that share a job are
-- one. The campaigns that have
-- any are found by steps through the index: the cost grows with their number, not with their
-- jobs.
WITH RECURSIVE flying (id) AS (
    (SELECT min(campaign_id) FROM live)
    UNION ALL
    SELECT (SELECT min(campaign_id) FROM live WHERE campaign_id > flying.id) FROM flying
        WHERE flying.id IS NOT NULL
), busy AS (
    SELECT id FROM flying WHERE id IS NOT NULL
    UNION
    SELECT campaign_id FROM batches WHERE state IN ('intended', 'in_doubt')
)
SELECT j.campaign_id, j.cluster_id, j.kind::text, j.state, sum(j.jobs)::bigint AS n,
    sum(j.slots)::bigint AS slots,
    sum(j.sum_start) AS sum_start
FROM busy JOIN jobs_in_flight AS j ON j.campaign_id = busy.id
GROUP BY 1, 2, 3, 4
HAVING sum(j.jobs) > 0;

-- name: JobOwner
-- returns: grid_user text, alive bool
-- Whose job $1 is, and whether it may still run: on its cluster, or on its way there.
SELECT c.grid_user,
    EXISTS (SELECT FROM live WHERE job_id = $1) OR b.state IN ('intended', 'in_doubt') AS alive
FROM batches AS b
JOIN campaigns AS c ON c.id = b.campaign_id
WHERE b.id = (SELECT id FROM batches WHERE first_job_id <= $1 ORDER BY first_job_id DESC LIMIT 1)
    AND $1 < b.first_job_id + b.n;

-- name: JobsByPlacement
-- returns: campaign_id int64, cluster_id int, started int64
-- Jobs of these campaigns ($1) ever claimed on each cluster.
SELECT campaign_id, cluster_id, coalesce(sum(n), 0)::bigint AS started
FROM counters
WHERE campaign_id = ANY ($1::bigint[]) AND kind <> 'epilogue'
    AND state IN ('launching', 'submitted', 'remote_waiting',
    'running', 'terminated', 'duplicate', 'event')
GROUP BY 1, 2;

-- name: LiveJobOfRemoteId
-- returns: job_id int64
-- Our job that cluster $1 (its name) calls $2, among those in flight.
SELECT l.job_id FROM live AS l JOIN clusters AS cl ON cl.id = l.cluster_id
WHERE cl.name = $1 AND l.remote_id = $2 ORDER BY l.job_id DESC LIMIT 1;

-- name: LiveJobsOf
-- returns: job_id int64, batch_id int64, element int, remote_id text, state text
-- The jobs in flight of some batches, by their ranges of job ids. OFFSET 0 as in CollectKills: a
-- plan for one job in flight compares each with all ranges.
SELECT l.job_id, l.batch_id, l.element, l.remote_id, l.state::text
FROM unnest($1::bigint[], $2::bigint[]) AS r (first, last)
CROSS JOIN LATERAL (
    SELECT job_id, batch_id, element, remote_id, state FROM live
    WHERE job_id BETWEEN r.first AND r.last OFFSET 0
) AS l;

-- name: LockCopies
-- returns: id int64
-- The batches that are being sent with copies of tasks of the jobs $1, locked: whoever gives one up
-- (GiveBackTasks) then sees that the jobs have ended.
WITH sent AS (
    SELECT id, campaign_id, unnest(idxs) AS idx FROM batches
    WHERE state IN ('intended', 'in_doubt')
), copies AS (
    SELECT DISTINCT s.id FROM sent AS s JOIN live AS l USING (campaign_id, idx)
    WHERE l.job_id = ANY ($1::bigint[])
)
SELECT b.id FROM batches AS b JOIN copies USING (id)
WHERE b.state IN ('intended', 'in_doubt')
ORDER BY b.id
FOR SHARE OF b;

-- name: LockEnds
-- Jobs $1, locked before their ends are classified: no copy of their tasks is sent meanwhile
-- (ClaimReplicas).
SELECT FROM live WHERE job_id = ANY ($1::bigint[]) ORDER BY job_id FOR UPDATE;

-- name: LostJobs
-- returns: job_id int64
-- Jobs in flight on clusters that an operator has given up since the jobs were sent (gridadmin
-- cluster lost).
SELECT l.job_id FROM clusters AS k JOIN live AS l ON l.cluster_id = k.id
WHERE k.lost_at IS NOT NULL AND l.submitted_at < k.lost_at;

-- name: MemoryUsed
-- returns: n int64, most_mb double?, most_failed_mb double?
-- What the last thousand tasks of campaign $1 that are done have measured of their memory: how many
-- they are, and what 95 of 100 stayed below; and the most of those that failed.
SELECT count(*) AS n, percentile_cont(0.95) WITHIN GROUP (ORDER BY peak_mb::float8) AS most_mb, (
    SELECT max(peak_mb)::float8 FROM (
        SELECT peak_mb FROM done WHERE campaign_id = $1 AND NOT counted AND idx >= 0
        ORDER BY idx DESC LIMIT 1000) AS f) AS most_failed_mb
FROM (
    SELECT peak_mb FROM done WHERE campaign_id = $1 AND counted AND idx >= 0
        AND peak_mb IS NOT NULL
    ORDER BY idx DESC LIMIT 1000) AS d;

-- name: MoveJobs
-- returns: job_id int64, campaign_id int64, cluster_id int64, kind text, slots int64,
-- returns: old_state text, new_state text, started double?, old_started double?,
-- returns: rides bool
-- Changes the states of jobs in flight; returns those that had another state.
WITH news AS (
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::float8[], $4::text[])
        AS n (job_id, state, started_ago, node)
), old AS (
    SELECT l.job_id, l.state, l.started_at FROM live AS l JOIN news USING (job_id)
), moved AS (
    UPDATE live AS l
    SET state = n.state::job_state, changed_at = now(), node = coalesce(nullif(n.node, ''), l.node),
        started_at = CASE WHEN n.state = 'running'
            THEN coalesce(l.started_at, greatest(now() - n.started_ago * interval '1 second',
                -- as in EndJobs
                CASE WHEN now() - n.started_ago * interval '1 second' < l.submitted_at
                    THEN (SELECT b.created_at - interval '1 hour' FROM batches AS b
                        WHERE b.id = l.batch_id) END))
            ELSE l.started_at END
    FROM news AS n
    WHERE l.job_id = n.job_id AND l.state <> n.state::job_state
    RETURNING l.job_id, l.campaign_id, l.cluster_id, l.kind, l.slots, l.state, l.started_at,
        l.rides
)
SELECT m.job_id, m.campaign_id, m.cluster_id, m.kind::text, m.slots, old.state::text AS old_state,
    m.state::text AS new_state, extract(epoch FROM m.started_at) AS started,
    extract(epoch FROM old.started_at) AS old_started, m.rides
FROM moved AS m JOIN old USING (job_id);

-- name: OverdueJobs
-- returns: campaign_id int64, cluster_id int64, copies bool, overdue_s double, average_s double?,
-- returns: grid_user text, n int, ran_s double
-- Jobs without another copy that run much longer than those of their campaign that have ended
-- (TECH-12), by cluster; `copies`: their campaign wants copies of them and may make more; ran_s: of
-- all of them. OFFSET 0 as in CollectKills.
SELECT f.campaign_id, l.cluster_id, c.max_replicas > 0 AS copies, f.overdue_s, f.average_s,
    c.grid_user, count(*)::int AS n, sum(extract(epoch FROM now() - l.started_at))::float8 AS ran_s
FROM forecasts AS f
JOIN campaigns AS c ON c.id = f.campaign_id AND c.state = 'in_treatment'
    AND c.wanted = 'in_treatment'
CROSS JOIN LATERAL (
    SELECT v.cluster_id, v.campaign_id, v.idx, v.started_at FROM live AS v
    WHERE v.campaign_id = f.campaign_id AND v.state = 'running' AND v.kind IN ('task', 'replica')
        AND v.started_at < now() - f.overdue_s * interval '1 second'
        AND NOT EXISTS (SELECT FROM live AS o WHERE o.campaign_id = v.campaign_id
            AND o.idx = v.idx AND o.job_id <> v.job_id OFFSET 0)
        AND NOT EXISTS (SELECT FROM done AS d WHERE d.campaign_id = v.campaign_id
            AND d.idx = v.idx AND d.counted OFFSET 0)
    OFFSET 0
) AS l
WHERE f.cluster_id = 0 AND f.overdue_s IS NOT NULL
    AND (c.max_replicas = 0 OR (
        SELECT count(*) FILTER (WHERE b.exit_class = 'program') < c.max_replicas
            AND count(*) < 10 + c.max_replicas
        FROM done AS b WHERE b.campaign_id = l.campaign_id AND b.idx = l.idx AND NOT b.counted
            AND b.kind = 'replica'))
GROUP BY 1, 2, 3, 4, 5, 6;

-- name: PlannedJobs
-- returns: n double
-- How many jobs in flight PostgreSQL plans for: as dense as when it last looked.
SELECT reltuples / greatest(relpages, 1)
    * (pg_relation_size(oid) / current_setting('block_size')::int) AS n
FROM pg_class WHERE oid = 'live'::regclass;

-- name: PutUnresponsiveJobs
-- The jobs $2 are all that give no sign of life on cluster $1, each for $3 seconds.
WITH others AS (
    DELETE FROM unresponsive_jobs WHERE cluster_id = $1 AND job_id <> ALL ($2::bigint[])
)
INSERT INTO unresponsive_jobs (job_id, cluster_id, since)
SELECT s.job_id, $1, now() - s.age * interval '1 second'
FROM unnest($2::bigint[], $3::float8[]) AS s (job_id, age)
ON CONFLICT DO NOTHING;

-- name: ReconcileOrphans
-- returns: remote_id text, tag text, element int, cluster_user text, verdict text
-- What each job with our tag on cluster $1 is ($2 remote id, $3 tag, $4 element, $5 its owner
-- there):
--   known    recorded under this id; in flight, or ended less than ten minutes ago
--   open     its batch is in doubt: the runner decides
-- duplicate     a job of ours that was recorded under another id, or given up, or that ended long
-- ago
--            and lives again because its slurmctld crashed
--   unknown  in no table
SELECT s.remote_id, s.tag, s.element, coalesce(cc.cluster_login, s.owner) AS cluster_user,
    CASE WHEN b.id IS NULL OR s.element NOT BETWEEN 0 AND b.n - 1 THEN 'unknown'
        WHEN b.state IN ('intended', 'in_doubt') THEN 'open'
        WHEN EXISTS (SELECT FROM live AS l
                WHERE l.job_id >= b.first_job_id + s.element
                AND l.job_id < b.first_job_id + s.element + b.tasks_per_job
                AND l.remote_id = s.remote_id)
            -- Twice, because the index of done is two partial ones.
            OR EXISTS (SELECT FROM done AS d
                WHERE d.campaign_id = b.campaign_id AND d.idx = b.idx AND d.counted
                AND d.job_id = b.first_job_id + s.element AND d.remote_id = s.remote_id
                AND d.ended_at > now() - interval '10 minutes')
            OR EXISTS (SELECT FROM done AS d
                WHERE d.campaign_id = b.campaign_id AND d.idx = b.idx AND NOT d.counted
                AND d.job_id = b.first_job_id + s.element AND d.remote_id = s.remote_id
                AND d.ended_at > now() - interval '10 minutes') THEN 'known'
        ELSE 'duplicate' END AS verdict
FROM unnest($2::text[], $3::text[], $4::int[], $5::text[]) AS s (remote_id, tag, element, owner)
LEFT JOIN LATERAL (
    SELECT id, state, n, first_job_id, campaign_id, tasks_per_job,
        coalesce(idxs[s.element + 1], first_idx + s.element, -1) AS idx
    FROM batches WHERE tag = s.tag AND cluster_id = $1
) AS b ON true
LEFT JOIN campaign_clusters AS cc ON cc.campaign_id = b.campaign_id AND cc.cluster_id = $1;

-- name: ShowJob
-- returns: job_id int64, remote_id text?, state text, attempt int, slots int,
-- returns: exit_class text?, code text?, wait_status int?, submitted double?, started double?,
-- returns: ended double?, node text?, message text?, counted bool,
-- returns: cpu_s double?, peak_mb double?, read_mb double?, written_mb double?,
-- returns: transfer_s double?
-- Job $1, an attempt of task $3 of campaign $2: as it is on its cluster, or as it ended.
SELECT job_id, remote_id, state::text AS state, attempt::int, slots, NULL AS exit_class,
    NULL AS code,
       NULL::int AS wait_status, extract(epoch FROM submitted_at) AS submitted,
       extract(epoch FROM started_at) AS started, NULL AS ended, node, NULL AS message,
           false AS counted,
       NULL::float8 AS cpu_s, NULL::float8 AS peak_mb, NULL::float8 AS read_mb,
       NULL::float8 AS written_mb, NULL::float8 AS transfer_s
FROM live WHERE job_id = $1
UNION ALL
SELECT job_id, remote_id, state::text, attempt, slots, exit_class::text, code, wait_status,
       extract(epoch FROM submitted_at), extract(epoch FROM started_at),
           extract(epoch FROM ended_at),
       node, message, counted, cpu_s, peak_mb, read_mb, written_mb, transfer_s
FROM done WHERE campaign_id = $2 AND idx = $3 AND counted AND job_id = $1
UNION ALL
SELECT job_id, remote_id, state::text, attempt, slots, exit_class::text, code, wait_status,
       extract(epoch FROM submitted_at), extract(epoch FROM started_at),
           extract(epoch FROM ended_at),
       node, message, counted, cpu_s, peak_mb, read_mb, written_mb, transfer_s
FROM done WHERE campaign_id = $2 AND idx = $3 AND NOT counted AND job_id = $1;

-- name: SingleCopies
-- returns: campaign_id int64, cluster_id int, n int
-- Tasks of these campaigns that are not done and have one copy in flight, by its cluster
-- (CIG-30). Tasks whose copies have failed are left out, as in ClaimReplicas.
SELECT campaign_id, cluster_id, count(*)::int AS n
FROM (
    SELECT l.campaign_id, l.idx, min(l.cluster_id) AS cluster_id
    FROM live AS l JOIN campaigns AS c ON c.id = l.campaign_id
    WHERE l.campaign_id = ANY ($1::bigint[]) AND l.kind IN ('task', 'replica')
        AND NOT EXISTS (SELECT FROM done AS d WHERE d.campaign_id = l.campaign_id AND d.idx = l.idx
            AND d.counted)
        AND (SELECT count(*) FILTER (WHERE b.exit_class = 'program') < c.max_replicas
            AND count(*) < 10 + c.max_replicas
             FROM done AS b WHERE b.campaign_id = l.campaign_id AND b.idx = l.idx AND NOT b.counted
                 AND b.kind = 'replica')
    GROUP BY l.campaign_id, l.idx HAVING count(*) = 1
) AS s
GROUP BY 1, 2;

-- name: SlotReleases
-- returns: cluster_id int64, campaign_id int64, start double, slots int
-- Slots of ours in use, by cluster, campaign and start (in steps of 10 s): they tell when slots
-- become free (FAIR-08).
SELECT cluster_id, campaign_id, floor(extract(epoch FROM started_at) / 10) * 10 AS start,
    sum(slots)::int AS slots
FROM live WHERE state = 'running' AND started_at IS NOT NULL AND NOT rides
GROUP BY 1, 2, 3;

-- name: YoungestRunningJobs
-- returns: job_id int64, campaign_id int64, cluster_id int64, slots int, started_at double,
-- returns: for_campaign int64
-- The youngest running jobs of ours: possible victims of a preemption (GRID-32), and those that
-- are being cancelled already, with the campaign they are cancelled for.
SELECT l.job_id, l.campaign_id, l.cluster_id, l.slots,
    extract(epoch FROM l.started_at) AS started_at,
    coalesce(p.for_campaign, 0) AS for_campaign
FROM live AS l LEFT JOIN preemptions AS p ON p.job_id = l.job_id
WHERE l.state = 'running' AND l.started_at IS NOT NULL AND l.idx >= 0 AND NOT l.rides
ORDER BY p.job_id IS NULL, l.started_at DESC LIMIT 20000;
