-- name: CountClusterFaults
-- returns: campaign_id int64, cluster_id int64, closed_s double
-- Adds jobs that failed by a fault of the cluster ($3) to placements ($1, $2). Ten of them without
-- a success between close the placement for six minutes, the next ten for twelve, up to an hour; a
-- success opens it. Those that were in flight when it was closed count no more. The answer: the
-- placements that are closed now.
UPDATE placements AS l
SET cluster_faults = l.cluster_faults + f.n,
    fault_until = CASE WHEN l.cluster_faults + f.n >= 10
        THEN now() + closed_by_faults(l.cluster_faults + f.n) END
FROM (SELECT campaign_id, cluster_id, least(n, 10) AS n
    FROM unnest($1::bigint[], $2::int[], $3::int[]) AS e (campaign_id, cluster_id, n)) AS f
WHERE l.campaign_id = f.campaign_id AND l.cluster_id = f.cluster_id
    AND coalesce(l.fault_until <= now(), true)
RETURNING l.campaign_id, l.cluster_id::bigint AS cluster_id,
    coalesce(extract(epoch FROM l.fault_until - now()), 0)::float8 AS closed_s;

-- name: DurationsByPlacement
-- returns: campaign_id int64, cluster_id int64, n_ok int64, sum_s double, hist int[]
-- How long jobs of these campaigns ($1) took, by cluster.
SELECT campaign_id, cluster_id, n_ok, sum_s, hist FROM placements
WHERE n_ok > 0 AND campaign_id = ANY ($1::bigint[]) ORDER BY campaign_id, cluster_id;

-- name: FreePlacements
-- Releases the placements whose hold somebody has answered by closing its event: as many canary
-- jobs as at the beginning may run there.
UPDATE placements AS l
SET held_since = NULL, held_event = NULL, held_why = NULL, ended = 0, program_failures = 0,
    prologue = CASE WHEN l.prologue = 'failed' THEN 'none' ELSE l.prologue END
FROM events AS e
WHERE l.held_since IS NOT NULL AND e.id = l.held_event AND e.state = 'closed';

-- name: FreeRepairedPlacements
-- Opens the placements that faults of their cluster have closed (CountClusterFaults), when somebody
-- has answered that since: by closing HELD_EVERYWHERE of the campaign or CLUSTER_FAULT of the
-- cluster.
UPDATE placements AS l SET fault_until = NULL, cluster_faults = 0
WHERE l.fault_until > now() AND EXISTS (SELECT FROM events AS e
    WHERE e.state = 'closed' AND e.closed_by NOT IN ('updator', 'nikita')
        AND (e.campaign_id = l.campaign_id AND e.code = 'HELD_EVERYWHERE'
            OR e.campaign_id IS NULL AND e.cluster_id = l.cluster_id AND e.code = 'CLUSTER_FAULT')
        AND e.date_closed > l.fault_until - closed_by_faults(l.cluster_faults));

-- name: GiveUpEpilogues
-- returns: cluster_id int64, name text
-- Gives up the epilogues of campaign $1 that have not run $2 seconds after its last task ended, and
-- those on the clusters $3, which have not confirmed its kills for as long. No time counts before
-- this leader began, nor before the last epilogue there ended, which is to run again.
UPDATE placements AS l SET epilogue = 'given_up'
FROM campaigns AS c, campaign_clusters AS cc, clusters AS k
WHERE c.id = $1 AND l.campaign_id = c.id AND cc.campaign_id = c.id
    AND cc.cluster_id = l.cluster_id AND k.id = l.cluster_id
    AND cc.epilogue IS NOT NULL
    AND (l.epilogue = 'none'
        OR l.epilogue <> 'given_up' AND EXISTS (SELECT FROM prologues_in_flight AS p
            WHERE p.campaign_id = c.id AND p.cluster_id = l.cluster_id))
    AND (greatest(c.finishing_since, (SELECT leading_since FROM grid),
            (SELECT max(d.ended_at) FROM done AS d WHERE d.campaign_id = c.id AND NOT d.counted
                AND d.idx < 0 AND d.cluster_id = l.cluster_id AND d.kind = 'epilogue'))
            < now() - $2 * interval '1 second'
        -- it is tried again and again, but not indefinitely
        OR greatest(c.finishing_since, (SELECT leading_since FROM grid))
            < now() - 24 * $2 * interval '1 second'
        OR l.cluster_id = ANY ($3::int[]))
    AND NOT EXISTS (SELECT FROM live AS v
        WHERE v.campaign_id = c.id AND v.cluster_id = l.cluster_id AND v.kind = 'epilogue')
RETURNING l.cluster_id, k.name;

-- name: HeldOnCluster
-- returns: held int, black_holes int64
-- How many campaigns that are alive are held on cluster $1, or excluded there for a while.
SELECT count(*) FILTER (WHERE l.held_since IS NOT NULL)::int AS held,
       count(*) FILTER (WHERE l.black_hole_until > now()) AS black_holes
FROM campaigns AS c JOIN placements AS l ON l.campaign_id = c.id AND l.cluster_id = $1
WHERE c.state IN ('in_treatment', 'paused');

-- name: HoldFailedPrologues
-- plan: generic
-- Holds the placements of campaigns $1 whose prologue failed, until somebody closes its event.
UPDATE placements AS l
SET held_since = now(), held_event = e.id, held_why = 'its prologue failed: ' || e.message
FROM events AS e
WHERE l.campaign_id = ANY ($1::bigint[]) AND l.prologue = 'failed' AND l.held_since IS NULL
    AND e.campaign_id = l.campaign_id AND e.cluster_id = l.cluster_id
    AND e.code = 'PROLOGUE_FAILED' AND e.state = 'open';

-- name: HoldPlacement
-- Holds campaign $1 on cluster $2 until somebody closes the event $3; $4 says why.
UPDATE placements SET held_since = now(), held_event = $3, held_why = $4
WHERE campaign_id = $1 AND cluster_id = $2;

-- name: InsertPlacements
-- A placement per cluster of campaign $1; the updator alone changes them.
INSERT INTO placements (campaign_id, cluster_id)
SELECT campaign_id, cluster_id FROM campaign_clusters WHERE campaign_id = $1 AND left_at IS NULL
ON CONFLICT DO NOTHING;

-- name: LoadPlacements
-- returns: campaign_id int64, cluster_id int, slots int, max_jobs int?, walltime_s int,
-- returns: test_mode bool, tried int, job_ratio double, verified bool, held bool,
-- returns: blocked text, has_prologue bool, prologue text, affinity int, answered_test bool,
-- returns: mean_s double, n_ok int64, p50_s double, waiting_allowed int, start_rate text?,
-- returns: recent_s double[], bursts int, killed_at double, longest_killed_s double?, staged bool,
-- returns: transfer_s double
-- Each of these campaigns ($1) on each of its clusters. Recent ends are read only where a black
-- hole is looked for ($2: everywhere). A campaign of at most $3 tasks (policy key canary_jobs) has
-- no canary jobs.
SELECT cc.campaign_id, cc.cluster_id, cc.slots, cc.max_jobs, cc.walltime_s, cc.test_mode,
    CASE WHEN l.verified OR cur.ntasks <= $3 THEN 0 ELSE coalesce(l.ended, 0) END AS tried,
    coalesce(f.job_ratio, 0) AS job_ratio, coalesce(l.verified, false) AS verified,
    coalesce(l.held_since IS NOT NULL, false) AS held, coalesce(e.code, '') AS blocked,
    cc.prologue IS NOT NULL AS has_prologue, coalesce(l.prologue, 'none') AS prologue,
    coalesce(p.priority, 0) AS affinity, coalesce(l.answered_test, false) AS answered_test,
    CASE WHEN l.n_ok > 0 THEN l.sum_s / l.n_ok ELSE 0 END AS mean_s, coalesce(l.n_ok, 0) AS n_ok,
        coalesce(f.p50_s, 0) AS p50_s,
    coalesce(f.waiting_allowed, 0) AS waiting_allowed, cc.options ->> 'start_rate' AS start_rate,
    CASE WHEN $2 OR c.jdl ? 'min_duration' THEN l.recent_s END AS recent_s,
    coalesce(l.bursts, 0) AS bursts,
    coalesce(extract(epoch FROM l.killed_at)::float8, 0) AS killed_at,
    CASE WHEN l.bursts > 0 THEN l.longest_killed_s END AS longest_killed_s,
    cc.common_inputs IS NOT NULL AND EXISTS (SELECT FROM staged_inputs AS s
        WHERE s.campaign_id = cc.campaign_id AND s.cluster_id = cc.cluster_id) AS staged,
    CASE WHEN l.n_ok > 0 THEN l.sum_transfer_s / l.n_ok ELSE 0 END AS transfer_s
FROM campaign_clusters AS cc
JOIN campaigns AS c ON c.id = cc.campaign_id
JOIN campaign_cursor AS cur ON cur.campaign_id = c.id
LEFT JOIN placements AS l ON l.campaign_id = cc.campaign_id AND l.cluster_id = cc.cluster_id
LEFT JOIN forecasts AS f ON f.campaign_id = cc.campaign_id AND f.cluster_id = cc.cluster_id
LEFT JOIN users_priority AS p ON p.grid_user = c.grid_user AND p.cluster_id = cc.cluster_id
LEFT JOIN (
    SELECT campaign_id, cluster_id, min(code) AS code FROM placement_blocks
    WHERE code <> 'CANARY_FAILED'  -- column `held` says so until the updator has lifted the hold
    GROUP BY campaign_id, cluster_id
) AS e ON e.campaign_id = cc.campaign_id AND e.cluster_id = cc.cluster_id
WHERE cc.campaign_id = ANY ($1::bigint[]) AND cc.left_at IS NULL
ORDER BY cc.campaign_id, cc.cluster_id;

-- name: LongJobs
-- returns: grid_user text, cluster_id int64, n int64, killed int64, hist int64[],
-- returns: overdue_s double?, average_s double?
-- What successes say of stragglers (policy/forecast/stragglers.h): of campaigns at work, and of the
-- last $1 that have ended within a day. hist: of placements with a job longer than overdue_s; the
-- others of a user on a cluster are one row.
WITH recent AS (
    SELECT id, grid_user FROM campaigns WHERE state IN ('in_treatment', 'paused')
    UNION ALL
    (SELECT id, grid_user FROM campaigns WHERE completion_time > now() - interval '1 day'
        AND state NOT IN ('in_treatment', 'paused')
    ORDER BY completion_time DESC LIMIT $1)
), known AS (
    SELECT r.grid_user, l.cluster_id, l.n_ok, coalesce(k.n, 0) AS killed, f.overdue_s, f.average_s,
        CASE WHEN l.max_s > f.overdue_s THEN l.hist::bigint[] END AS hist
    FROM recent AS r
    JOIN forecasts AS f ON f.campaign_id = r.id AND f.cluster_id = 0 AND f.overdue_s IS NOT NULL
        AND f.average_s > 0
    JOIN placements AS l ON l.campaign_id = r.id
    LEFT JOIN counters AS k ON k.campaign_id = r.id AND k.cluster_id = l.cluster_id
        AND k.kind = 'task' AND k.state = 'preemption' AND k.writer = 'updator'
)
SELECT grid_user, cluster_id, sum(n_ok)::bigint AS n, sum(killed)::bigint AS killed,
    '{}'::bigint[] AS hist, NULL::float8 AS overdue_s, NULL::float8 AS average_s
FROM known WHERE hist IS NULL GROUP BY 1, 2
UNION ALL
SELECT grid_user, cluster_id, n_ok, killed, hist, overdue_s, average_s
FROM known WHERE hist IS NOT NULL;

-- name: PlacementClasses
-- returns: campaign_id int64, cluster_id int64, request text, units int, name text, total int,
-- returns: free int, used_by_cigri int
-- The resource classes that campaigns $1 ask for, with what the last poll of the cluster counted;
-- name '': it was not asked yet. Those that it cannot count are left out.
SELECT cc.campaign_id, cc.cluster_id, coalesce(cc.resource_class, '') AS request,
    cc.class_units AS units,
    coalesce(r.name, '') AS name, coalesce(r.total, 0) AS total, coalesce(r.free, 0) AS free,
    coalesce(r.used_by_cigri, 0) AS used_by_cigri
FROM campaign_clusters AS cc
LEFT JOIN resource_classes AS r
    ON r.cluster_id = cc.cluster_id AND r.request = cc.resource_class
WHERE cc.campaign_id = ANY ($1::bigint[]) AND cc.left_at IS NULL
    AND cc.resource_class IS NOT NULL AND (r.request IS NULL OR r.name IS NOT NULL)
ORDER BY cc.cluster_id, cc.resource_class, cc.campaign_id;

-- name: PendingJobs
-- returns: campaign_id int64, cluster_id int, pending_kept int, waiting_timeout_s int,
-- returns: waiting_allowed int?, elsewhere bool, resource_class text, jobs int64[], ages double[]
-- Jobs of ours that are pending on clusters polled lately, by campaign and cluster, with how many
-- of the campaign may wait there (CIG-36, CIG-50) and for how long. `resource_class`: what they
-- wait for, where the cluster counts it; '' = slots.
SELECT l.campaign_id, l.cluster_id, c.pending_kept, c.waiting_timeout_s, f.waiting_allowed,
       EXISTS (SELECT FROM campaign_clusters AS o JOIN clusters AS oc ON oc.id = o.cluster_id
               WHERE o.campaign_id = l.campaign_id AND o.cluster_id <> l.cluster_id
                   AND o.left_at IS NULL AND oc.enabled AND NOT oc.drained) AS elsewhere,
       coalesce(r.request, '') AS resource_class,
       array_agg(l.job_id ORDER BY l.job_id) AS jobs,
       array_agg(extract(epoch FROM now() - l.submitted_at)::float8 ORDER BY l.job_id) AS ages
FROM live AS l
JOIN clusters AS c ON c.id = l.cluster_id
JOIN cluster_status AS s ON s.cluster_id = c.id AND s.polled_at > now() - interval '2 minutes'
LEFT JOIN forecasts AS f ON f.campaign_id = l.campaign_id AND f.cluster_id = l.cluster_id
LEFT JOIN campaign_clusters AS cc
    ON cc.campaign_id = l.campaign_id AND cc.cluster_id = l.cluster_id
LEFT JOIN resource_classes AS r ON r.cluster_id = cc.cluster_id AND r.request = cc.resource_class
    AND r.name IS NOT NULL
WHERE l.state = 'remote_waiting' AND l.idx >= 0 AND NOT l.rides
    AND NOT EXISTS (SELECT FROM kills AS k WHERE k.job_id = l.job_id)
GROUP BY 1, 2, 3, 4, 5, 6, 7;

-- name: PlacementsToHold
-- returns: campaign_id int64, cluster_id int64, ended int, exec_file text, message text?,
-- returns: node text?
-- plan: generic
-- Placements of campaigns $1 where nothing has ever succeeded and the first $2 ends were all
-- failures of the program, with the last failure.
SELECT l.campaign_id, l.cluster_id, l.ended, cc.exec_file, d.message, d.node
FROM placements AS l
JOIN campaign_clusters AS cc ON cc.campaign_id = l.campaign_id AND cc.cluster_id = l.cluster_id
    AND cc.left_at IS NULL
JOIN campaigns AS c
    ON c.id = l.campaign_id AND c.type = 'default' AND c.state IN ('in_treatment', 'paused')
JOIN campaign_cursor AS cur ON cur.campaign_id = l.campaign_id AND cur.ntasks > $2
LEFT JOIN LATERAL (
    SELECT message, node FROM done
    WHERE campaign_id = l.campaign_id AND NOT counted AND cluster_id = l.cluster_id
        AND exit_class = 'program'
    ORDER BY ended_at DESC LIMIT 1
) AS d ON true
WHERE l.campaign_id = ANY ($1::bigint[]) AND NOT l.verified AND l.held_since IS NULL
    AND l.ended >= $2 AND l.program_failures = l.ended;

-- name: HeldByCanaries
-- returns: campaign_id int64, cluster_id int64
-- Placements of campaigns $1 that are held because their canary jobs failed.
SELECT l.campaign_id, l.cluster_id
FROM placements AS l JOIN events AS e ON e.id = l.held_event AND e.code = 'CANARY_FAILED'
WHERE l.campaign_id = ANY ($1::bigint[]) AND NOT l.verified;

-- name: AskForCanaries
-- The user of campaign $1 has given it a reason for another try.
INSERT INTO canary_renewals (campaign_id) VALUES ($1);

-- name: RenewCanaries
-- As many canary jobs as at the beginning may run where nothing of a campaign has succeeded that
-- got a reason for another try. What is held waits for the answer to its event (FreePlacements).
WITH asked AS (
    DELETE FROM canary_renewals RETURNING campaign_id
)
UPDATE placements AS l SET ended = 0, program_failures = 0
FROM (SELECT DISTINCT campaign_id FROM asked) AS a
WHERE l.campaign_id = a.campaign_id AND NOT l.verified AND l.held_since IS NULL;

-- name: ShowPlacements
-- returns: id int64, name text, kind text, mode text, enabled bool, drained bool,
-- returns: drain_reason text?, drained_by text?, drained_until double?, slots int,
-- returns: walltime_s int, asked_walltime_s int?, max_jobs int?, has_prologue bool,
-- returns: has_epilogue bool, prologue text,
-- returns: epilogue text, verified bool?, held_why text?, held_since double?,
-- returns: black_hole_until double?, n_ok int64, sum_s double, sum_sq double, min_s double?,
-- returns: max_s double?, first_start double?, last_end double?, job_ratio double?,
-- returns: rate double?, p50_s double?, p90_s double?, p99_s double?, waiting_allowed int?,
-- returns: error text?, failing_since double?, polled_ago double?, stress double,
-- returns: stress_limit double, granted int64, unresponsive int64, unresponsive_s double?,
-- returns: done int64, launching int64, submitted int64, remote_waiting int64, running int64,
-- returns: ended_badly int64, preempted int64, end_low double?, end_high double?, staged bool?,
-- returns: transfer_s double?
-- plan: generic
-- Campaign $1 on each of its clusters: what is in flight, what is known, what is foreseen.
SELECT cl.id, cl.name, cl.kind, cl.mode, cl.enabled, cl.drained, cl.drain_reason, cl.drained_by,
       extract(epoch FROM finite(cl.drained_until)) AS drained_until,
       cc.slots, cc.walltime_s,
       CASE WHEN cc.options -> 'auto_walltime' = 'true'
           THEN coalesce(f.walltime_s, cc.walltime_s) END AS asked_walltime_s,
       cc.max_jobs, cc.prologue IS NOT NULL AS has_prologue,
       cc.epilogue IS NOT NULL AS has_epilogue,
       coalesce(l.prologue, 'none') AS prologue, coalesce(l.epilogue, 'none') AS epilogue,
       coalesce(l.verified, false) AS verified, l.held_why,
           extract(epoch FROM l.held_since) AS held_since,
       extract(epoch FROM l.black_hole_until) AS black_hole_until,
       coalesce(l.n_ok, 0) AS n_ok, coalesce(l.sum_s, 0) AS sum_s, coalesce(l.sum_sq, 0) AS sum_sq,
       l.min_s, l.max_s, extract(epoch FROM l.first_start) AS first_start,
       extract(epoch FROM l.last_end) AS last_end,
       f.job_ratio, f.rate, f.p50_s, f.p90_s, f.p99_s, f.waiting_allowed,
       st.error, extract(epoch FROM st.failing_since) AS failing_since,
       extract(epoch FROM now() - st.polled_at) AS polled_ago, coalesce(st.stress, 0) AS stress,
       cl.stress_limit, coalesce(g.n, 0) AS granted,
       q.n AS unresponsive, q.longest_s AS unresponsive_s,
       n.done, n.launching, n.submitted, n.remote_waiting, n.running, n.ended_badly, n.preempted,
       extract(epoch FROM f.end_low) AS end_low, extract(epoch FROM f.end_high) AS end_high,
       CASE WHEN cc.common_inputs IS NOT NULL THEN EXISTS (SELECT FROM staged_inputs AS s
           WHERE s.campaign_id = cc.campaign_id AND s.cluster_id = cc.cluster_id) END AS staged,
       l.sum_transfer_s / nullif(l.n_ok, 0) AS transfer_s
FROM campaign_clusters AS cc
JOIN clusters AS cl ON cl.id = cc.cluster_id
LEFT JOIN placements AS l ON l.campaign_id = cc.campaign_id AND l.cluster_id = cc.cluster_id
LEFT JOIN forecasts AS f ON f.campaign_id = cc.campaign_id AND f.cluster_id = cc.cluster_id
LEFT JOIN cluster_status AS st ON st.cluster_id = cc.cluster_id
CROSS JOIN LATERAL (
    SELECT coalesce(sum(k.n) FILTER (WHERE state = 'terminated'), 0)::bigint AS done,
           coalesce(sum(k.n) FILTER (WHERE state = 'launching'), 0)::bigint AS launching,
           coalesce(sum(k.n) FILTER (WHERE state = 'submitted'), 0)::bigint AS submitted,
           coalesce(sum(k.n) FILTER (WHERE state = 'remote_waiting'), 0)::bigint AS remote_waiting,
           coalesce(sum(k.n) FILTER (WHERE state = 'running'), 0)::bigint AS running,
           coalesce(sum(k.n) FILTER (WHERE state = 'event'), 0)::bigint AS ended_badly,
           coalesce(sum(k.n) FILTER (WHERE state = 'preemption'), 0)::bigint AS preempted
    FROM counters AS k
    WHERE k.campaign_id = cc.campaign_id AND k.cluster_id = cc.cluster_id
      AND k.kind IN ('task', 'replica', 'test')
) AS n
CROSS JOIN LATERAL (
    SELECT sum(n) AS n FROM grants WHERE campaign_id = cc.campaign_id AND cluster_id = cc.cluster_id
) AS g
CROSS JOIN LATERAL (
    SELECT count(*) AS n, extract(epoch FROM now() - min(s.since)) AS longest_s
    FROM unresponsive_jobs AS s
    -- few of them: not by a join, which may begin with all jobs of the campaign
    WHERE s.cluster_id = cc.cluster_id
        AND (SELECT l.campaign_id FROM live AS l WHERE l.job_id = s.job_id) = cc.campaign_id
) AS q
WHERE cc.campaign_id = $1 AND cc.left_at IS NULL
ORDER BY cl.id;

-- name: UpdatePlacements
-- plan: generic
-- Adds what the ends of jobs say of a campaign on a cluster. REQUIRES: each placement once.
INSERT INTO placements AS l (campaign_id, cluster_id, verified, ended, program_failures, n_ok,
    sum_s,
    sum_sq, min_s, max_s, hist, first_start, last_end, prologue, epilogue, answered_test, recent_s,
    recent_idx, longest_killed_s, killed_at, bursts, jobs, sum_transfer_s)
SELECT e.campaign_id, e.cluster_id, e.n_ok > 0, e.ended, e.failures, e.n_ok, e.sum_s, e.sum_sq,
    e.min_s, e.max_s, e.hist::int[], to_timestamp(e.first_start), to_timestamp(e.last_end),
    coalesce(e.prologue, 'none'), coalesce(e.epilogue, 'none'), e.tests > 0, e.recent_s::real[],
    e.recent_idx::bigint[], e.longest_killed, CASE WHEN e.longest_killed IS NOT NULL THEN now() END,
    CASE WHEN e.longest_killed IS NOT NULL AND e.n_ok = 0 THEN 1 ELSE 0 END, e.jobs,
    e.sum_transfer_s
FROM unnest($1::bigint[], $2::int[], $3::int[], $4::int[], $5::bigint[], $6::float8[],
        $7::float8[], $8::float8[], $9::float8[], $10::text[], $11::float8[], $12::float8[],
        $13::text[], $14::text[], $15::int[], $16::text[], $17::text[], $18::float8[],
        $19::bigint[], $20::float8[])
    AS e (campaign_id, cluster_id, ended, failures, n_ok, sum_s, sum_sq, min_s, max_s, hist,
        first_start, last_end, prologue, epilogue, tests, recent_s, recent_idx,
        longest_killed, jobs, sum_transfer_s)
ON CONFLICT (campaign_id, cluster_id) DO UPDATE SET
    verified = l.verified OR excluded.verified,
    ended = l.ended + excluded.ended,
    program_failures = l.program_failures + excluded.program_failures,
    cluster_faults = CASE WHEN excluded.n_ok > 0 THEN 0 ELSE l.cluster_faults END,
    fault_until = CASE WHEN excluded.n_ok > 0 THEN NULL ELSE l.fault_until END,
    jobs = l.jobs + excluded.jobs,
    n_ok = l.n_ok + excluded.n_ok,
    sum_s = l.sum_s + excluded.sum_s,
    sum_sq = l.sum_sq + excluded.sum_sq,
    sum_transfer_s = l.sum_transfer_s + excluded.sum_transfer_s,
    min_s = least(l.min_s, excluded.min_s),
    max_s = greatest(l.max_s, excluded.max_s),
    hist = CASE WHEN excluded.hist IS NULL THEN l.hist WHEN l.hist IS NULL THEN excluded.hist
        ELSE (SELECT array_agg(coalesce(a, 0) + coalesce(b, 0) ORDER BY i)
              FROM unnest(l.hist, excluded.hist) WITH ORDINALITY AS h (a, b, i)) END,
    first_start = least(l.first_start, excluded.first_start),
    last_end = greatest(l.last_end, excluded.last_end),
    prologue = CASE WHEN excluded.prologue = 'none'
            OR excluded.prologue = 'undone' AND l.prologue <> 'done' THEN l.prologue
        ELSE excluded.prologue END,
    -- What ends after it was added later, and the epilogue is to follow that, too.
    epilogue = CASE WHEN excluded.epilogue <> 'none' THEN excluded.epilogue
        WHEN excluded.prologue <> 'undone' AND excluded.last_end IS NOT NULL THEN 'none'
        ELSE l.epilogue END,
    answered_test = l.answered_test OR excluded.answered_test,
    -- The last 20 ends.
    recent_s = (l.recent_s || excluded.recent_s)[greatest(coalesce(cardinality(l.recent_s), 0)
        + coalesce(cardinality(excluded.recent_s), 0) - 19, 1):],
    recent_idx = (l.recent_idx || excluded.recent_idx)[greatest(
        coalesce(cardinality(l.recent_idx), 0)
        + coalesce(cardinality(excluded.recent_idx), 0) - 19, 1):],
    longest_killed_s = greatest(l.longest_killed_s, excluded.longest_killed_s),
    -- What is killed within a minute is one burst: policy::kBurstS.
    killed_at = CASE WHEN l.killed_at > now() - interval '1 minute' THEN l.killed_at
        ELSE coalesce(excluded.killed_at, l.killed_at) END,
    bursts = CASE WHEN excluded.n_ok > 0 THEN 0
        WHEN l.killed_at > now() - interval '1 minute' THEN greatest(l.bursts, excluded.bursts)
        ELSE l.bursts + excluded.bursts END;

-- name: WaitingOnCluster
-- returns: campaign_id int64, grid_user text, priority int, waiting int64, granted int64,
-- returns: in_flight int64, cluster_id int64?, cluster text?, code text?, numbers text?,
-- returns: since double?, total int64
-- Campaigns that wait and may run on cluster $1, each with what holds it back there (or
-- altogether); at most $2. What holds them back is looked up for these alone.
WITH page AS MATERIALIZED (
    SELECT c.id, c.grid_user, c.priority, w.n, count(*) OVER () AS total
    FROM campaign_clusters AS cc
    JOIN campaigns AS c ON c.id = cc.campaign_id AND c.state = 'in_treatment'
        AND c.wanted = 'in_treatment'
    JOIN campaign_cursor AS cur ON cur.campaign_id = c.id
    CROSS JOIN LATERAL (
        SELECT cur.waiting
               + (SELECT count(*) FROM (SELECT FROM retry
                   WHERE campaign_id = c.id ORDER BY idx LIMIT 1000) AS few) AS n
    ) AS w
    WHERE cc.cluster_id = $1 AND cc.left_at IS NULL AND w.n > 0
    ORDER BY c.id LIMIT $2
)
SELECT p.id AS campaign_id, p.grid_user, p.priority, p.n AS waiting, coalesce(g.n, 0) AS granted,
       coalesce(k.n, 0)::bigint AS in_flight, r.cluster_id, cl.name AS cluster, r.code, r.numbers,
       extract(epoch FROM r.since) AS since, p.total
FROM page AS p
LEFT JOIN LATERAL (
    SELECT sum(n) AS n FROM grants WHERE campaign_id = p.id AND cluster_id = $1
) AS g ON true
LEFT JOIN LATERAL (
    SELECT sum(n) AS n FROM jobs_in_flight WHERE campaign_id = p.id AND cluster_id = $1
) AS k ON true
LEFT JOIN LATERAL (
    SELECT * FROM reasons WHERE campaign_id = p.id AND cluster_id IN (0, $1) AND until IS NULL
    ORDER BY cluster_id, since LIMIT 1
) AS r ON true
LEFT JOIN clusters AS cl ON cl.id = r.cluster_id
ORDER BY p.id;
