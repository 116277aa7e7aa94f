-- name: AddDuplicates
-- Duplicates of our jobs on cluster $1, which nikita kills; those that are known already stay as
-- they are.
INSERT INTO duplicates (cluster_id, remote_id, tag, element, cluster_user)
SELECT $1, * FROM unnest($2::text[], $3::text[], $4::int[], $5::text[])
ON CONFLICT DO NOTHING;

-- name: AddKills
-- Kills of the jobs $1 for the reason $2, as far as they are still in flight.
INSERT INTO kills (job_id, reason, detail)
SELECT l.job_id, $2, $3 FROM live AS l WHERE l.job_id = ANY ($1::bigint[])
ON CONFLICT DO NOTHING;

-- name: CleaningWork
-- returns: kills bool, emptied bool, live bool, duplicates bool, drain_over bool
-- What a pass of nikita has to look at: kills whose ends were not seen, clusters to be emptied,
-- jobs in flight, duplicates, drains that have reached their end.
SELECT EXISTS (SELECT FROM kills) AS kills, EXISTS (SELECT FROM clusters WHERE kill_all) AS emptied,
       EXISTS (SELECT FROM live) AS live, EXISTS (SELECT FROM duplicates) AS duplicates,
       EXISTS (SELECT FROM clusters WHERE drained_until <= now()) AS drain_over;

-- name: CollectDrainedJobs
-- Every job in flight on a cluster that an operator empties (`drain --kill`).
INSERT INTO kills (job_id, reason, detail)
SELECT l.job_id, 'drain', c.drain_reason
FROM clusters AS c JOIN live AS l ON l.cluster_id = c.id
WHERE c.kill_all AND NOT EXISTS (SELECT FROM kills AS k WHERE k.job_id = l.job_id)
ON CONFLICT DO NOTHING;

-- name: CollectKills
-- Kills that a condition requests now, of jobs in flight that have none yet. The reason is
-- committed before any call. Looks only at campaigns with jobs in flight, found by steps through
-- the index. OFFSET 0 keeps the order of the joins: `live` fills within seconds, so that its
-- statistics say nothing, and is large with few jobs in it.
WITH RECURSIVE flying (id) AS (
    (SELECT min(campaign_id) FROM live)
    UNION ALL
    SELECT (SELECT min(campaign_id) FROM live WHERE campaign_id > flying.id) FROM flying
        WHERE flying.id IS NOT NULL
), campaign AS (
    SELECT c.id, c.wanted, c.max_replicas,
        c.finishing_since IS NOT NULL OR c.state = 'terminated' AS tasks_over
    FROM flying JOIN campaigns AS c USING (id)
), wanted (job_id, reason, detail) AS (
    SELECT l.job_id, 'campaign_cancelled', NULL::text
    FROM campaign AS c
    CROSS JOIN LATERAL (
        SELECT job_id, kind FROM live WHERE campaign_id = c.id OFFSET 0
    ) AS l
    -- it cleans up after a cancelled campaign too
    WHERE c.wanted = 'cancelled' AND l.kind <> 'epilogue'
    UNION ALL
    SELECT l.job_id, 'campaign_over', NULL
    FROM campaign AS c
    CROSS JOIN LATERAL (
        SELECT v.job_id FROM live AS v
        WHERE v.campaign_id = c.id AND v.idx < 0 AND v.kind = 'prologue' OFFSET 0
    ) AS l
    WHERE c.tasks_over AND c.wanted <> 'cancelled'
    UNION ALL
    SELECT l.job_id, 'task_done', NULL
    FROM campaign AS c
    CROSS JOIN LATERAL (
        SELECT v.job_id FROM live AS v
        WHERE v.campaign_id = c.id AND v.idx >= 0
            AND EXISTS (SELECT FROM done AS d
                WHERE d.campaign_id = v.campaign_id AND d.idx = v.idx AND d.counted OFFSET 0)
            -- it costs the others that share its job more than it gives
            AND NOT EXISTS (SELECT FROM job_mates AS m WHERE m.job_id = v.job_id OFFSET 0)
        OFFSET 0
    ) AS l
    WHERE c.max_replicas > 0
    UNION ALL
    SELECT q.job_id, 'user', 'asked for by ' || q.asked_by FROM job_requests AS q
    WHERE EXISTS (SELECT FROM live AS l WHERE l.job_id = q.job_id OFFSET 0)
    UNION ALL
    SELECT p.job_id, 'preempted_by_grid', p.why FROM preemptions AS p
    WHERE EXISTS (SELECT FROM live AS l WHERE l.job_id = p.job_id OFFSET 0)
    UNION ALL
    SELECT r.job_id, 'recalled', 'slots are free on ' || k.name
    FROM recalls AS r JOIN clusters AS k ON k.id = r.to_cluster
    WHERE EXISTS (SELECT FROM live AS l
        WHERE l.job_id = r.job_id AND l.state = 'remote_waiting' OFFSET 0)
), chosen AS (
    SELECT DISTINCT ON (job_id) job_id, reason, detail FROM wanted
    WHERE NOT EXISTS (SELECT FROM kills AS k WHERE k.job_id = wanted.job_id OFFSET 0)
    ORDER BY job_id, reason
)
INSERT INTO kills (job_id, reason, detail) SELECT job_id, reason, detail FROM chosen
ON CONFLICT DO NOTHING;

-- name: CollectNeverStarted
-- Jobs that gave no sign of their start for longer than their cluster's option start_limit_s,
-- else $1 s. Only where the last poll is fresh.
INSERT INTO kills (job_id, reason, detail)
SELECT l.job_id, 'never_started',
    'no sign of its start for ' || extract(epoch FROM now() - s.since)::int || ' s'
FROM unresponsive_jobs AS s
JOIN live AS l USING (job_id)
JOIN clusters AS c ON c.id = l.cluster_id
JOIN cluster_status AS st ON st.cluster_id = c.id AND st.polled_at > now() - interval '2 minutes'
WHERE s.since < now() - coalesce(CASE WHEN jsonb_typeof(c.options -> 'start_limit_s') = 'number'
        THEN (c.options ->> 'start_limit_s')::float8 END, $1::float8) * interval '1 second'
    AND NOT EXISTS (SELECT FROM kills AS k WHERE k.job_id = l.job_id)
ON CONFLICT DO NOTHING;

-- name: CollectOverWalltime
-- Running jobs past their walltime and $1 (share of it) and $2 (seconds) of
-- slack, where the cluster does not end them itself. Only where the last poll is fresh: nothing is
-- killed on a stale answer.
INSERT INTO kills (job_id, reason, detail)
SELECT l.job_id, 'walltime', 'walltime of ' || w.s || ' s is over'
FROM live AS l
JOIN clusters AS c ON c.id = l.cluster_id AND NOT c.exact_walltime
JOIN cluster_status AS s ON s.cluster_id = c.id AND s.polled_at > now() - interval '2 minutes'
JOIN campaign_clusters AS cc ON cc.campaign_id = l.campaign_id AND cc.cluster_id = l.cluster_id
JOIN batches AS b ON b.id = l.batch_id
CROSS JOIN LATERAL (SELECT coalesce(b.walltime_s, cc.walltime_s) AS s) AS w
WHERE l.state = 'running' AND l.idx >= 0
    AND l.started_at + (w.s * (1 + $1::float8) + $2::float8) * interval '1 second' < now()
    AND NOT EXISTS (SELECT FROM kills AS k WHERE k.job_id = l.job_id)
ON CONFLICT DO NOTHING;

-- name: CollectSuperfluousCopies
-- Copies of tasks that are done, in campaigns without replicas: a lost job that was found again;
-- one that others share goes on until the last. OFFSET 0 as in CollectKills.
INSERT INTO kills (job_id, reason)
SELECT l.job_id, 'task_done'
FROM live AS l
WHERE l.idx >= 0
    AND EXISTS (SELECT FROM done AS d
        WHERE d.campaign_id = l.campaign_id AND d.idx = l.idx AND d.counted OFFSET 0)
    AND NOT EXISTS (SELECT FROM kills AS k WHERE k.job_id = l.job_id OFFSET 0)
    AND NOT EXISTS (SELECT FROM job_mates AS m WHERE m.job_id = l.job_id OFFSET 0)
ON CONFLICT DO NOTHING;

-- name: DropSettledRequests
-- Removes requests about jobs that are not in flight any more, or never came to be.
WITH k AS (DELETE FROM kills WHERE NOT EXISTS (SELECT FROM live AS l WHERE l.job_id = kills.job_id)
           AND asked_at < now() - interval '1 minute'),
p AS (DELETE FROM preemptions WHERE NOT EXISTS (SELECT FROM live AS l
    WHERE l.job_id = preemptions.job_id)
      AND at < now() - interval '1 hour'),
r AS (DELETE FROM recalls WHERE NOT EXISTS (SELECT FROM live AS l
    WHERE l.job_id = recalls.job_id)),
s AS (DELETE FROM unresponsive_jobs WHERE NOT EXISTS (SELECT FROM live AS l
    WHERE l.job_id = unresponsive_jobs.job_id))
DELETE FROM job_requests WHERE NOT EXISTS (SELECT FROM live AS l
    WHERE l.job_id = job_requests.job_id)
    AND asked_at < now() - interval '1 hour';

-- name: DueDuplicates
-- returns: cluster_id int64, remote_id text, tag text, element int, cluster_user text
-- Duplicates of our jobs (see `duplicates`) whose next call is due, at the intervals of DueKills,
-- but of the clusters $3; 1000 of each.
SELECT cluster_id, remote_id, tag, element, cluster_user
FROM (
    SELECT t.*, row_number() OVER (PARTITION BY t.cluster_id ORDER BY t.calls, t.remote_id) AS k
    FROM duplicates AS t LEFT JOIN cluster_status AS s ON s.cluster_id = t.cluster_id
    WHERE (t.called_at IS NULL
           OR t.called_at + least($1::float8 * 2 ^ (least(t.calls, 20) - 1), $2)
               * interval '1 second' <= now())
        AND (s.retry_at IS NULL OR s.retry_at <= now()) AND t.cluster_id <> ALL ($3::int[])
) AS due
WHERE k <= 1000
ORDER BY cluster_id, k;

-- name: DueKills
-- returns: job_id int64, calls int, remote_id text, element int, cluster_id int64, tag text,
-- returns: cluster_user text, walltime_s int64, tasks_per_job int, only_waiting bool
-- Kills whose next call is due, of clusters that may be called now and are not among $3: never
-- called, or called so long ago that the end should have been seen ($1 s, doubled by each call up
-- to $2). 5000 of each cluster: one where many are due takes no place of another's. Those that run
-- are last, or others that are to be killed would begin in their places. What is killed because it
-- waits may have begun by now; then it goes on, unless a call before was taken: it may be about to
-- end.
WITH due AS (
    SELECT k.job_id, k.calls, k.reason, k.error, l.remote_id, l.element, l.cluster_id,
        l.batch_id, l.campaign_id,
        row_number() OVER (PARTITION BY l.cluster_id
            ORDER BY k.calls, l.state = 'running', k.job_id) AS place
    FROM kills AS k
    JOIN live AS l USING (job_id)
    LEFT JOIN cluster_status AS s ON s.cluster_id = l.cluster_id
    WHERE (k.called_at IS NULL
           OR k.called_at + least($1::float8 * 2 ^ (least(k.calls, 20) - 1), $2)
               * interval '1 second' <= now())
        AND (s.retry_at IS NULL OR s.retry_at <= now()) AND l.cluster_id <> ALL ($3::int[])
)
SELECT d.job_id, d.calls, d.remote_id, d.element, d.cluster_id, b.tag,
    coalesce(cc.cluster_login, '') AS cluster_user,
       coalesce(b.walltime_s, cc.walltime_s, 0) AS walltime_s, b.tasks_per_job,
    d.reason IN ('recalled', 'excess_waiting', 'waiting_too_long')
        AND (d.calls = 0 OR d.error IS NOT NULL) AS only_waiting
FROM due AS d
JOIN batches AS b ON b.id = d.batch_id
LEFT JOIN campaign_clusters AS cc ON cc.campaign_id = d.campaign_id AND cc.cluster_id = d.cluster_id
WHERE d.place <= 5000
ORDER BY d.cluster_id, d.place;

-- name: DuplicateKillAnswered
-- Answers of a cluster about duplicates; an empty error: the duplicate is gone.
WITH reported AS (
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]) AS t (cluster_id, remote_id, error)
), gone AS (
    DELETE FROM duplicates AS t USING reported WHERE t.cluster_id = reported.cluster_id
        AND t.remote_id = reported.remote_id AND reported.error = ''
)
UPDATE duplicates AS t SET error = reported.error
FROM reported WHERE t.cluster_id = reported.cluster_id AND t.remote_id = reported.remote_id
    AND reported.error <> '';

-- name: DuplicateKillCalled
-- The calls for copies (cluster $1, remote id $2) are about to be made.
UPDATE duplicates AS t SET called_at = now(), calls = calls + 1
FROM unnest($1::bigint[], $2::text[]) AS c (cluster_id, remote_id)
WHERE t.cluster_id = c.cluster_id AND t.remote_id = c.remote_id;

-- name: ForgetDuplicates
-- Forgets the duplicates on cluster $1 that are not there any more: all but $2.
DELETE FROM duplicates WHERE cluster_id = $1 AND remote_id <> ALL ($2::text[]);

-- name: InsertPreemptions
-- Jobs $1 that the policy gives back for campaigns $2.
INSERT INTO preemptions (job_id, for_campaign, cluster_id, slots, lost_s, why)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::int[], $5::float8[], $6::text[])
ON CONFLICT DO NOTHING;

-- name: InsertRecalls
-- Of the jobs of campaign $1[i] that wait on cluster $2[i], $4[i] are taken back in favour of
-- cluster $3[i]: those chosen before, then the newest. A job that waits no longer than a queue is
-- meant to last may start soon.
INSERT INTO recalls (job_id, to_cluster)
SELECT j.job_id, w.to_cluster
FROM unnest($1::bigint[], $2::int[], $3::int[], $4::int[])
    AS w (campaign_id, cluster_id, to_cluster, n)
JOIN clusters AS k ON k.id = w.cluster_id
CROSS JOIN LATERAL (
    SELECT l.job_id FROM live AS l LEFT JOIN recalls AS r USING (job_id)
    WHERE l.campaign_id = w.campaign_id AND l.cluster_id = w.cluster_id
        AND l.state = 'remote_waiting' AND l.idx >= 0 AND NOT l.rides AND l.submitted_at < now()
            - (k.queue_s + coalesce(k.min_cycle_s, CASE WHEN k.change_feed THEN 0 ELSE 5 END))
            * interval '1 second'
    ORDER BY r.job_id IS NULL, l.submitted_at DESC, l.job_id DESC LIMIT w.n
) AS j
ON CONFLICT DO NOTHING;

-- name: KillCallCameLate
-- Jobs $1, which were to be killed only while they wait, have begun: they go on.
WITH r AS (DELETE FROM recalls WHERE job_id = ANY ($1::bigint[]))
DELETE FROM kills WHERE job_id = ANY ($1::bigint[])
    AND reason IN ('recalled', 'excess_waiting', 'waiting_too_long');

-- name: KillCallFailed
-- What a cluster said when it would not kill.
UPDATE kills AS k SET error = e.error
FROM unnest($1::bigint[], $2::text[]) AS e (job_id, error) WHERE k.job_id = e.job_id;

-- name: KillCalled
-- The calls for jobs $1 are about to be made: committed before them.
UPDATE kills SET called_at = now(), calls = calls + 1 WHERE job_id = ANY ($1::bigint[]);

-- name: NextDueKill
-- returns: seconds double?
-- Seconds until the next call is due; NULL when there is none.
SELECT extract(epoch FROM min(coalesce(called_at + least($1::float8 * 2 ^ (least(calls, 20) - 1),
    $2)
    * interval '1 second',
                                       now())) - now()) AS seconds
FROM kills;

-- name: PreemptionYield
-- returns: for_campaign int64, jobs int64, slots int64, lost_s double, freed int64, got int64
-- What preemption brought in the last hour, by campaign: jobs and slots cancelled, work lost,
-- slots that are free by now, and slots of its own jobs that started on these clusters since (at
-- most as many as were freed).
WITH p AS (
    SELECT p.*, NOT EXISTS (SELECT FROM live AS l WHERE l.job_id = p.job_id) AS freed
        FROM preemptions AS p
    WHERE p.at > now() - interval '1 hour'
), by_cluster AS (
    SELECT for_campaign, cluster_id, count(*) AS jobs, sum(slots) AS slots, sum(lost_s) AS lost_s,
        coalesce(sum(slots) FILTER (WHERE freed), 0) AS freed, min(at) AS since
    FROM p GROUP BY 1, 2
)
SELECT b.for_campaign, sum(b.jobs)::bigint AS jobs, sum(b.slots)::bigint AS slots,
    sum(b.lost_s) AS lost_s,
    sum(b.freed)::bigint AS freed,
    sum(least(b.freed, g.slots))::bigint AS got
FROM by_cluster AS b
CROSS JOIN LATERAL (
    SELECT coalesce((SELECT sum(l.slots) FROM live AS l
            WHERE l.campaign_id = b.for_campaign AND l.cluster_id = b.cluster_id
                AND l.started_at >= b.since), 0)
        + coalesce((SELECT sum(d.slots) FROM done AS d
            WHERE d.campaign_id = b.for_campaign AND d.cluster_id = b.cluster_id
                AND d.started_at >= b.since), 0) AS slots
) AS g
GROUP BY 1;

-- name: RequestKill
INSERT INTO job_requests (job_id, asked_by) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: SpreadKills
-- A job is killed with all tasks that share it. What is said of one task alone (its user, its
-- walltime, a copy of it) is no reason for the others.
INSERT INTO kills (job_id, reason, detail)
SELECT DISTINCT ON (m.mate) m.mate,
    CASE WHEN k.reason IN ('user', 'task_done', 'walltime') THEN 'shared_job' ELSE k.reason END,
    CASE WHEN k.reason IN ('user', 'task_done', 'walltime')
        THEN 'it shares the job of job ' || k.job_id || ', which is killed' ELSE k.detail END
FROM kills AS k
JOIN job_mates AS m USING (job_id)
WHERE k.calls = 0 AND NOT EXISTS (SELECT FROM kills AS known WHERE known.job_id = m.mate)
ORDER BY m.mate, k.job_id
ON CONFLICT DO NOTHING;

-- name: StubbornJobs
-- returns: id int64, name text, n int64, error text?
-- Clusters where a job has not ended after $1 calls, and clusters where no such job is left
-- although an event says so (n = 0).
SELECT c.id, c.name, count(l.job_id) AS n, max(k.error) AS error
FROM clusters AS c
LEFT JOIN (live AS l JOIN kills AS k ON k.job_id = l.job_id AND k.calls >= $1)
    ON l.cluster_id = c.id
GROUP BY c.id, c.name
HAVING count(l.job_id) > 0
    OR EXISTS (SELECT FROM events AS e WHERE e.code = 'KILL_UNCONFIRMED' AND e.cluster_id = c.id
        AND e.state = 'open');
