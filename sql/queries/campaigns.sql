-- name: AnyCampaignActive
-- returns: any bool
-- Whether clusters are to be polled at their full pace.
SELECT EXISTS (SELECT FROM campaigns WHERE state = 'in_treatment')
    OR EXISTS (SELECT FROM campaigns
        WHERE state = 'cancelled' AND completion_time IS NULL) AS any;

-- name: ApplyWantedStates
-- returns: id int64, state text
-- Campaigns get the states that their users asked for. A campaign that the updator has stopped
-- (state_reason) stays paused until a placement is released. A cancelled campaign is complete
-- later: when its kills are confirmed and its epilogues have run. The time for the epilogues of one
-- that goes on begins again.
UPDATE campaigns
SET state = wanted,
    finishing_since = CASE WHEN wanted = 'in_treatment' AND finishing_since IS NOT NULL THEN now()
        WHEN wanted <> 'cancelled' THEN finishing_since END,
    state_reason = CASE WHEN wanted = 'paused' THEN state_reason END
WHERE state IN ('in_treatment', 'paused') AND wanted <> state
    AND NOT (state = 'paused' AND wanted = 'in_treatment' AND state_reason IS NOT NULL)
RETURNING id, state::text;

-- name: BeginFinishing
-- The tasks of campaign $1 have ended, and its epilogues are due.
UPDATE campaigns SET finishing_since = now() WHERE id = $1 AND finishing_since IS NULL;

-- name: CampaignFormat
-- returns: grid_user text, format text, columns text[], first_task_id int64, nb_params int64,
-- returns: jdl text
-- What a reader of campaign $1 needs first: whose it is and how its parameters are written.
SELECT grid_user, format, columns, first_task_id, nb_params, jdl
FROM campaigns WHERE id = $1;

-- name: CampaignIsHeldEverywhere
-- returns: held bool
-- plan: generic
-- Whether every cluster of campaign $1 is kept from it by an event that its user must answer.
-- A missing token is none: the runner closes TOKEN_MISSING when there is a token; so is what the
-- runner does after a restore, and a fault of the cluster, which is tried again soon.
SELECT NOT EXISTS (
    SELECT FROM campaign_clusters AS cc
    WHERE cc.campaign_id = $1 AND cc.left_at IS NULL
        AND NOT EXISTS (
            SELECT FROM placement_blocks AS b
            WHERE b.campaign_id = cc.campaign_id AND b.cluster_id = cc.cluster_id
                AND b.code NOT IN ('TOKEN_MISSING', 'RESTORED', 'CLUSTER_FAULT'))) AS held;

-- name: CompleteCancelled
-- Nothing of the cancelled campaign $1 is in flight any more.
UPDATE campaigns SET completion_time = now() WHERE id = $1 AND state = 'cancelled';

-- name: ContinueCampaigns
-- returns: id int64
-- Continues the campaigns that the updator had stopped and that a cluster takes again; and test
-- campaigns, which it stops no more.
UPDATE campaigns AS c
SET state = 'in_treatment', state_reason = NULL
WHERE c.state = 'paused' AND c.wanted = 'in_treatment' AND c.state_reason IS NOT NULL
    AND (c.type = 'test' OR EXISTS (
        SELECT FROM campaign_clusters AS cc
        WHERE cc.campaign_id = c.id AND cc.left_at IS NULL
            AND NOT EXISTS (
                SELECT FROM placement_blocks AS b
                WHERE b.campaign_id = c.id AND b.cluster_id = cc.cluster_id)))
RETURNING c.id;

-- name: CampaignWithNote
-- returns: id int64
-- The campaign that has note $1.
SELECT id FROM campaigns WHERE notes @> jsonb_build_array(jsonb_build_object('text', $1::text))
ORDER BY id LIMIT 1;

-- name: LeaveClusters
-- Campaign $1 leaves the clusters that are not in $2. What it has there ends as it would have.
UPDATE campaign_clusters SET left_at = now()
WHERE campaign_id = $1 AND left_at IS NULL AND NOT cluster_id = ANY ($2::int[]);

-- name: DueEpilogues
-- returns: id int64, cluster_id int64
-- Epilogues that are due: all tasks of the campaign have ended, or it is cancelled and its kills
-- are confirmed; on every cluster where something of it has run.
SELECT c.id, cc.cluster_id
FROM campaigns AS c
JOIN campaign_clusters AS cc ON cc.campaign_id = c.id
JOIN placements AS l ON l.campaign_id = c.id AND l.cluster_id = cc.cluster_id
WHERE c.completion_time IS NULL AND c.finishing_since IS NOT NULL
    AND (c.state = 'cancelled' OR (c.state = 'in_treatment' AND c.wanted = 'in_treatment'))
    AND cc.epilogue IS NOT NULL AND l.epilogue = 'none' AND l.last_end IS NOT NULL;

-- name: EndCandidates
-- returns: id int64, state text
-- Campaigns that may be over: all tasks have been sent once, or it is a test campaign; of campaigns
-- $2, or of all ($1). The counters only suggest an end; an exact look decides. And cancelled
-- campaigns that are not complete.
SELECT c.id, c.state::text
FROM campaigns AS c JOIN campaign_cursor AS cur ON cur.campaign_id = c.id
WHERE c.state = 'in_treatment' AND ($1 OR c.id = ANY ($2::bigint[]))
    AND (cur.waiting = 0 OR c.type = 'test')
UNION ALL
SELECT id, state::text FROM campaigns WHERE state = 'cancelled' AND completion_time IS NULL
ORDER BY 1;

-- name: EpiloguesLeft
-- returns: n int64
-- How many epilogues of campaign $1 are to come: one on each cluster where a prologue or a job of
-- it has run, or where a prologue is in flight, which nikita ends.
SELECT count(*) AS n
FROM campaign_clusters AS cc
JOIN placements AS l ON l.campaign_id = cc.campaign_id AND l.cluster_id = cc.cluster_id
WHERE cc.campaign_id = $1 AND cc.epilogue IS NOT NULL
    AND (l.epilogue = 'none' AND l.last_end IS NOT NULL
        OR l.epilogue <> 'given_up' AND EXISTS (SELECT FROM prologues_in_flight AS p
            WHERE p.campaign_id = $1 AND p.cluster_id = cc.cluster_id));

-- name: ExecFiles
-- returns: cluster_id int64, exec_file text
-- What campaign $1 runs on each of its clusters.
SELECT cluster_id, exec_file FROM campaign_clusters WHERE campaign_id = $1 AND left_at IS NULL;

-- name: GridCells
-- returns: campaign_id int64, name text, grid_user text, cluster_id int, n int64
-- Jobs in flight by cluster, of the $1 campaigns that have most of them.
WITH flying AS (
    SELECT k.campaign_id, k.cluster_id, sum(k.n)::bigint AS n
    FROM campaigns AS c JOIN jobs_in_flight AS k ON k.campaign_id = c.id
    WHERE c.completion_time IS NULL
    GROUP BY 1, 2 HAVING sum(k.n) > 0
), most AS (
    SELECT campaign_id, sum(n) AS n FROM flying GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT $1
)
SELECT f.campaign_id, c.name, c.grid_user, f.cluster_id, f.n
FROM most AS m JOIN flying AS f USING (campaign_id) JOIN campaigns AS c ON c.id = f.campaign_id
ORDER BY m.n DESC, f.campaign_id, f.cluster_id;

-- name: GrowCampaign
WITH cursor AS (
    UPDATE campaign_cursor SET ntasks = ntasks + $2 WHERE campaign_id = $1
)
UPDATE campaigns SET nb_params = nb_params + $2 WHERE id = $1;

-- name: InsertCampaign
-- returns: id int64
INSERT INTO campaigns (grid_user, name, type, project, priority, sla_group, nb_params,
    first_task_id, format,
    columns, jdl, max_tries, max_replicas, lost_after_s, notes, upload_id)
VALUES ($1, $2, $3, $4, $5, nullif($6, ''), $7, $8, $9, $10::text[], $11::jsonb, $12, $13, $14,
    $15::jsonb, $16)
RETURNING id;

-- name: InsertCursor
INSERT INTO campaign_cursor (campaign_id, ntasks) VALUES ($1, $2);

-- name: ListCampaigns
-- returns: id int64, name text, grid_user text, type text, project text, priority int,
-- returns: sla_group text?, state text, wanted text, state_reason text?, nb_params int64,
-- returns: first_task_id int64, format text, notes text, max_tries int, max_replicas int,
-- returns: submission_time double, completion_time double?, finishing bool, ntasks int64,
-- returns: waiting int64, done int64, launching int64, submitted int64, remote_waiting int64,
-- returns: running int64, ended_badly int64, program int64?, user_requeues int64,
-- returns: preempted int64, infrastructure int64, our_kill int64, duplicate int64,
-- returns: retry int64, needs_attention int64, has_events bool, rate double?, end_low double?,
-- returns: end_high double?
-- plan: generic
-- The campaigns $1 with their numbers, by id. The forecast is of those at work. Nothing is counted
-- that grows with what is done: the numbers come from the cursor and the counters; retry and
-- needs_attention are counted up to 100,001 (src/api/read/campaigns.cc).
SELECT p.id, p.name, p.grid_user, p.type, p.project, p.priority, p.sla_group, p.state, p.wanted,
       p.state_reason, p.nb_params, p.first_task_id, p.format, p.notes, p.max_tries, p.max_replicas,
       extract(epoch FROM p.submission_time) AS submission_time,
       extract(epoch FROM p.completion_time) AS completion_time,
       p.finishing_since IS NOT NULL AS finishing,
       coalesce(c.ntasks, 0) AS ntasks, coalesce(c.waiting, 0) AS waiting,
       n.done, n.launching, n.submitted, n.remote_waiting, n.running, n.ended_badly, n.program,
       n.user_requeues, n.preempted, n.infrastructure, n.our_kill, n.duplicate, r.n AS retry,
           t.n AS needs_attention,
       EXISTS (SELECT FROM events AS e WHERE e.campaign_id = p.id AND e.state = 'open'
                                         AND e.class IN ('job', 'campaign',
                                             'cluster')) AS has_events,
       f.rate, extract(epoch FROM f.end_low) AS end_low, extract(epoch FROM f.end_high) AS end_high
FROM campaigns AS p
LEFT JOIN campaign_cursor AS c ON c.campaign_id = p.id
LEFT JOIN forecasts AS f
    ON f.campaign_id = p.id AND f.cluster_id = 0 AND p.state = 'in_treatment'
CROSS JOIN LATERAL (
    SELECT coalesce(sum(k.n) FILTER (WHERE state = 'terminated'), 0)::bigint AS done,
           coalesce(sum(k.n) FILTER (WHERE state = 'launching'), 0)::bigint AS launching,
           coalesce(sum(k.n) FILTER (WHERE state = 'submitted'), 0)::bigint AS submitted,
           coalesce(sum(k.n) FILTER (WHERE state = 'remote_waiting'), 0)::bigint AS remote_waiting,
           coalesce(sum(k.n) FILTER (WHERE state = 'running'), 0)::bigint AS running,
           coalesce(sum(k.n) FILTER (WHERE state = 'event'), 0)::bigint AS ended_badly,
           coalesce(sum(k.n) FILTER (WHERE state = 'program'), 0)::bigint AS program,
           coalesce(sum(k.n) FILTER (WHERE state = 'user_requeue'), 0)::bigint AS user_requeues,
           coalesce(sum(k.n) FILTER (WHERE state = 'preemption'), 0)::bigint AS preempted,
           coalesce(sum(k.n) FILTER (WHERE state = 'infrastructure'), 0)::bigint AS infrastructure,
           coalesce(sum(k.n) FILTER (WHERE state = 'our_kill'), 0)::bigint AS our_kill,
           coalesce(sum(k.n) FILTER (WHERE state = 'duplicate'), 0)::bigint AS duplicate
    FROM counters AS k
    WHERE k.campaign_id = p.id AND k.kind IN ('task', 'replica', 'test')
) AS n
CROSS JOIN LATERAL (
    -- By its index, in its order: PostgreSQL believes that every campaign has as many rows as the
    -- one that has them all, and would read the whole table for each.
    SELECT count(*) AS n FROM (SELECT FROM retry
        WHERE campaign_id = p.id ORDER BY idx LIMIT 100001) AS few
) AS r
CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (SELECT FROM needs_attention
        WHERE campaign_id = p.id ORDER BY idx LIMIT 100001) AS few
) AS t
WHERE p.id = ANY ($1::bigint[])
ORDER BY p.id;

-- name: LockCampaign
-- returns: id int64, grid_user text, name text, type text, state text, wanted text, jdl text,
-- returns: nb_params int64, format text, columns text[], first_task_id int64, ntasks int64,
-- returns: purged bool
-- The campaign and its cursor, both locked: the updator ends a campaign under the lock of its
-- cursor, so nothing can be added or brought back while it is being ended. The cursor comes first,
-- as it does there.
WITH cursor AS MATERIALIZED (
    SELECT campaign_id, ntasks FROM campaign_cursor WHERE campaign_id = $1 FOR UPDATE
)
SELECT c.id, c.grid_user, c.name, c.type, c.state, c.wanted, c.jdl, c.nb_params, c.format,
    c.columns, c.first_task_id,
    cursor.ntasks, c.purge_since IS NOT NULL AS purged
FROM cursor JOIN campaigns AS c ON c.id = cursor.campaign_id
FOR UPDATE OF c;

-- name: ReadCampaign
-- returns: id int64, grid_user text, name text, type text, state text, wanted text, jdl text,
-- returns: nb_params int64, format text, columns text[], first_task_id int64, ntasks int64,
-- returns: purged bool
-- What LockCampaign gives, without a lock.
SELECT c.id, c.grid_user, c.name, c.type, c.state, c.wanted, c.jdl, c.nb_params, c.format,
    c.columns, c.first_task_id, cursor.ntasks, c.purge_since IS NOT NULL AS purged
FROM campaign_cursor AS cursor JOIN campaigns AS c ON c.id = cursor.campaign_id
WHERE c.id = $1;

-- name: LockCursor
-- returns: type text, waiting int64
-- Locks campaign $1 and its cursor: no task is added, and no task or prologue claimed, until the
-- transaction ends. Nothing when somebody else has them: whoever waited here would keep the news of
-- all campaigns waiting.
SELECT c.type, cur.waiting
FROM campaign_cursor AS cur JOIN campaigns AS c ON c.id = cur.campaign_id
WHERE cur.campaign_id = $1 AND c.state = 'in_treatment'
FOR NO KEY UPDATE OF cur, c SKIP LOCKED;

-- name: MarkPurged
-- returns: id int64
-- Campaign $1 is purged from now on, unless it is alive again or busy.
-- REQUIRES: it is locked (LockCampaign): nobody adds to it meanwhile.
UPDATE campaigns AS c SET purge_since = coalesce(purge_since, now())
WHERE id = $1 AND (purge_since IS NOT NULL
    OR (state IN ('terminated', 'cancelled') AND completion_time IS NOT NULL
        AND NOT EXISTS (SELECT FROM live AS l WHERE l.campaign_id = c.id)
        AND NOT EXISTS (SELECT FROM batches AS b WHERE b.campaign_id = c.id
            AND b.state IN ('intended', 'in_doubt'))))
RETURNING id;

-- name: LockChains
-- Who makes a campaign wait for others does so alone: two at a time might close a ring.
SELECT pg_advisory_xact_lock(hashtext('cigri after ' || current_schema()));

-- name: MissingCampaigns
-- returns: id text
-- Those of $1 that are no campaigns.
SELECT a.id::text AS id FROM unnest($1::bigint[]) AS a (id)
WHERE NOT EXISTS (SELECT FROM campaigns AS c WHERE c.id = a.id);

-- name: PageOfCampaigns
-- returns: total int64?, id int64?
-- Campaigns of user $1 (or NULL), with $2 (or NULL) in their names, in a state of $6 or, when $7,
-- terminated with open events: the ids of those after the first $4, the oldest (when $5: the
-- newest) first. Of at most $3 and one more, which says that more follow. Only then, or when there
-- are none, and only when $8, all are counted. At least one row.
WITH found AS NOT MATERIALIZED (
    SELECT id FROM campaigns
    WHERE (state = ANY ($6::campaign_state[])
            OR ($7 AND state = 'terminated' AND id IN (SELECT campaign_id FROM events
                WHERE state = 'open' AND class IN ('job', 'campaign', 'cluster'))))
        AND ($1::text IS NULL OR grid_user = $1)
        AND ($2::text IS NULL OR strpos(lower(name), lower($2)) > 0)
), page AS MATERIALIZED (
    (SELECT id FROM found WHERE NOT $5 ORDER BY id LIMIT $3::bigint + 1 OFFSET $4::bigint)
    UNION ALL
    (SELECT id FROM found WHERE $5 ORDER BY id DESC LIMIT $3::bigint + 1 OFFSET $4::bigint)
)
SELECT t.total, p.id
FROM (
    SELECT CASE WHEN $8 AND (SELECT count(*) FROM page) NOT BETWEEN 1 AND $3::bigint
        THEN (SELECT count(*) FROM found) END AS total
) AS t
LEFT JOIN page AS p ON true;

-- name: PastCampaigns
-- returns: id int64, name text, grid_user text, jdl text, nb_params int64
-- The $1 newest campaigns, as they were admitted.
SELECT id, name, grid_user, jdl, nb_params FROM campaigns ORDER BY id DESC LIMIT $1;

-- name: PurgeCampaign
-- What is left of campaign $1 when its bulk has gone. `usage` stays: accounts are kept.
WITH d1 AS (DELETE FROM uploads WHERE id IN (SELECT upload_id FROM segments
    WHERE campaign_id = $1)),
d2 AS (DELETE FROM segments WHERE campaign_id = $1),
d3 AS (DELETE FROM campaign_cursor WHERE campaign_id = $1),
d4 AS (DELETE FROM counters WHERE campaign_id = $1),
d5 AS (DELETE FROM placements WHERE campaign_id = $1),
d6 AS (DELETE FROM grants WHERE campaign_id = $1),
d7 AS (DELETE FROM reasons WHERE campaign_id = $1),
d8 AS (DELETE FROM forecasts WHERE campaign_id = $1),
d9 AS (DELETE FROM forecasts_history WHERE campaign_id = $1),
d10 AS (DELETE FROM events WHERE campaign_id = $1),
d11 AS (DELETE FROM boosted_tasks WHERE campaign_id = $1)
DELETE FROM campaigns WHERE id = $1;

-- name: PurgeCampaignRows
-- returns: n int64
-- Removes at most $2 rows of each bulk table of campaign $1; how many it removed.
WITH d1 AS (
    DELETE FROM done WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM done WHERE campaign_id = $1 AND counted LIMIT $2)) RETURNING 1
), d2 AS (
    DELETE FROM done WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM done WHERE campaign_id = $1 AND NOT counted LIMIT $2)) RETURNING 1
), d3 AS (
    DELETE FROM tries WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM tries WHERE campaign_id = $1 LIMIT $2)) RETURNING 1
), d4 AS (
    DELETE FROM needs_attention WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM needs_attention WHERE campaign_id = $1 LIMIT $2)) RETURNING 1
), d5 AS (
    DELETE FROM retry WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM retry WHERE campaign_id = $1 LIMIT $2)) RETURNING 1
), d6 AS (
    DELETE FROM batches WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM batches WHERE campaign_id = $1 LIMIT $2)) RETURNING 1
), d7 AS (
    DELETE FROM params_chunk WHERE ctid = ANY (ARRAY(
        SELECT p.ctid FROM params_chunk AS p JOIN segments AS s USING (upload_id)
        WHERE s.campaign_id = $1 LIMIT $2 / 100)) RETURNING 1
)
SELECT (SELECT count(*) FROM d1) + (SELECT count(*) FROM d2)
    + (SELECT count(*) FROM d3) + (SELECT count(*) FROM d4)
    + (SELECT count(*) FROM d5) + (SELECT count(*) FROM d6) + (SELECT count(*) FROM d7) AS n;

-- name: PurgeableCampaign
-- returns: id int64
-- The oldest campaign whose purge has begun, or that ended more than $1 days ago (NULL: none is too
-- old) and has nothing in flight.
SELECT id FROM campaigns AS c
WHERE purge_since IS NOT NULL
    OR (state IN ('terminated', 'cancelled') AND completion_time < now() - $1 * interval '1 day'
        AND NOT EXISTS (SELECT FROM live AS l WHERE l.campaign_id = c.id)
        AND NOT EXISTS (SELECT FROM batches AS b WHERE b.campaign_id = c.id
            AND b.state IN ('intended', 'in_doubt')))
ORDER BY id LIMIT 1;

-- name: PutCampaignCluster
-- What campaign $1 runs on cluster $2; replaced when it is there.
INSERT INTO campaign_clusters AS cc (campaign_id, cluster_id, exec_file, exec_directory, setup,
    resources,
    slots, properties, walltime_s, project, best_effort, job_types, prologue, epilogue,
        prologue_walltime_s,
    epilogue_walltime_s, max_jobs, test_mode, options, cluster_login, common_inputs,
    resource_class, class_units)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::text[], nullif($13, ''), nullif($14, ''),
    $15, $16, $17,
    $18, $19::jsonb, $20, md5(nullif($21, '')), nullif($22, ''), $23)
ON CONFLICT (campaign_id, cluster_id)
DO UPDATE SET exec_file = excluded.exec_file, exec_directory = excluded.exec_directory,
    setup = excluded.setup,
    resources = excluded.resources, slots = excluded.slots, properties = excluded.properties,
    walltime_s = excluded.walltime_s, project = excluded.project,
        best_effort = excluded.best_effort,
    job_types = excluded.job_types, prologue = excluded.prologue, epilogue = excluded.epilogue,
    prologue_walltime_s = excluded.prologue_walltime_s,
        epilogue_walltime_s = excluded.epilogue_walltime_s,
    max_jobs = excluded.max_jobs, test_mode = excluded.test_mode, options = excluded.options,
    common_inputs = excluded.common_inputs, resource_class = excluded.resource_class,
    class_units = excluded.class_units, left_at = NULL;

-- name: RenameCampaign
UPDATE campaigns SET name = $2 WHERE id = $1;

-- name: ReopenCampaign
-- REQUIRES: the cursor of $1 is locked, or the updator might be ending it right now.
UPDATE campaigns
SET state = CASE WHEN state = 'terminated' THEN wanted ELSE state END,
    completion_time = NULL, finishing_since = NULL,
    state_reason = CASE WHEN state = 'terminated' THEN NULL ELSE state_reason END
WHERE id = $1;

-- name: SchedulableCampaigns
-- plan: generic
-- returns: id int64, grid_user text, project text, test bool, priority int, sla_group text,
-- returns: submitted_at double, waiting_since double, waiting int64, done int64,
-- returns: replicas bool, need_s double, mean_s double, class_name text, affinity_wait text?,
-- returns: min_duration text?, licences text?, after int64?, after_failed int64?,
-- returns: failed_tasks int64, not_before text?, deadline text?, max_jobs_total text?,
-- returns: scheduler text, active bool
-- Campaigns that may be given something, and those that have jobs in flight ($1) in any state:
-- these count against quotas and licences, and want nothing. No more retries are counted than
-- one decision gives. A campaign waits since its submission; with retries alone, since the first
-- of them is due. The campaigns that it comes after: function predecessors_of. Most campaigns have
-- no retries, nothing done and no predecessor: for these, nothing is looked up. `retrying` steps
-- from the next campaign with retries to the next at work from there on: neither those that have
-- none nor those that are over and keep theirs cost a step each.
WITH RECURSIVE retrying (id) AS (
    (SELECT min(a.id) FROM campaigns AS a WHERE a.state IN ('in_treatment', 'paused')
        AND a.id >= (SELECT min(campaign_id) FROM retry))
    UNION ALL
    SELECT (SELECT min(a.id) FROM campaigns AS a WHERE a.state IN ('in_treatment', 'paused')
        AND a.id >= (SELECT min(t.campaign_id) FROM retry AS t WHERE t.campaign_id > r.id))
    FROM retrying AS r WHERE r.id IS NOT NULL
)
SELECT c.id, c.grid_user, c.project, c.type = 'test' AS test, c.priority,
    coalesce(c.sla_group, '') AS sla_group,
    extract(epoch FROM c.submission_time) AS submitted_at,
    extract(epoch FROM CASE WHEN cur.waiting > 0 THEN c.submission_time
        ELSE coalesce(r.since, c.submission_time) END)
        AS waiting_since,
    CASE WHEN c.state = 'in_treatment' AND c.wanted = 'in_treatment' AND c.finishing_since IS NULL
        THEN cur.waiting + r.n ELSE 0 END AS waiting,
    coalesce(d.n, 0)::bigint AS done,
    c.max_replicas > 0 AND c.state = 'in_treatment' AND c.wanted = 'in_treatment' AS replicas,
    coalesce(f.p50_s, 0) AS need_s, coalesce(f.average_s, 0) AS mean_s,
    coalesce(j.class, '') AS class_name, j.affinity_wait,
        j.min_duration, j.licences,
    b.after, b.after_failed, coalesce(b.failed_tasks, 0) AS failed_tasks,
    j.not_before, j.deadline, j.max_jobs_total,
    coalesce(j.scheduler, '') AS scheduler,
    c.state = 'in_treatment' AND c.wanted = 'in_treatment' AS active
FROM campaigns AS c
JOIN campaign_cursor AS cur ON cur.campaign_id = c.id
LEFT JOIN retrying ON retrying.id = c.id
CROSS JOIN LATERAL (
    SELECT count(*) AS n, min(due.not_before) AS since FROM (
        SELECT t.not_before FROM retry AS t WHERE t.campaign_id = retrying.id
            AND t.not_before <= now() LIMIT 100000) AS due
) AS r
LEFT JOIN LATERAL (
    SELECT sum(k.n) AS n FROM counters AS k
    WHERE k.campaign_id = c.id AND k.state = 'terminated' AND cur.waiting < cur.ntasks
) AS d ON true
LEFT JOIN forecasts AS f ON f.campaign_id = c.id AND f.cluster_id = 0
CROSS JOIN LATERAL jsonb_to_record(c.jdl)
    AS j (class text, affinity_wait text, min_duration text, licences text, not_before text,
          deadline text, max_jobs_total text, scheduler text)
LEFT JOIN LATERAL (
    SELECT p.* FROM predecessors_of(c.jdl) AS p WHERE c.jdl ?| ARRAY['after', 'after_any']
    OFFSET 0 -- otherwise the condition is one of the join, which comes after the function
) AS b ON true
WHERE (c.state = 'in_treatment' AND c.wanted = 'in_treatment') OR c.id = ANY ($1::bigint[])
ORDER BY c.id;

-- name: SetCampaign
-- Of the notes it keeps the oldest ten and the newest ninety: a change writes all of them.
UPDATE campaigns
SET name = $2, project = $3, priority = $4, sla_group = nullif($5, ''), max_tries = $6,
    max_replicas = $7,
    lost_after_s = $8, jdl = $9::jsonb,
    notes = (
        SELECT coalesce(jsonb_agg(x.note ORDER BY x.no), '[]')
        FROM jsonb_array_elements(notes || $10::jsonb) WITH ORDINALITY AS x (note, no)
        WHERE x.no <= 10 OR x.no > jsonb_array_length(notes || $10::jsonb) - 90)
WHERE id = $1;

-- name: WaitsFor
-- returns: id int64, before int64
-- What campaigns $1 wait for (keys after, after_any), and what these wait for, and so on: `before`
-- waits for `id`. A cancelled campaign waits for nothing any more.
WITH RECURSIVE way (id, before) AS (
    SELECT a.id, 0::bigint FROM unnest($1::bigint[]) AS a (id)
    UNION
    SELECT x.id::bigint, way.id
    FROM way
    JOIN campaigns AS c ON c.id = way.id AND c.wanted <> 'cancelled'
    CROSS JOIN LATERAL (
        SELECT jsonb_array_elements_text(k.list) AS id
        FROM (VALUES (c.jdl -> 'after'), (c.jdl -> 'after_any')) AS k (list)
        WHERE jsonb_typeof(k.list) = 'array'
    ) AS x
    WHERE x.id ~ '^[0-9]{1,18}$'
)
SELECT id, before FROM way;

-- name: SetWantedState
-- What users ask of a campaign. Its state follows when the updator has seen to it.
UPDATE campaigns SET wanted = $2::campaign_state WHERE id = $1;

-- name: StopHeldCampaigns
-- returns: id int64, state_reason text
-- Pauses the campaigns that are held on each of their clusters: by the canary jobs, by a refusal,
-- or by a failed prologue. The reason names the clusters that have it together. Begins with what is
-- held somewhere: that is little, whatever the number of campaigns. A test campaign goes on until
-- its clusters have answered or their time is over: it ends then.
WITH held AS MATERIALIZED (
    SELECT campaign_id FROM placement_blocks
    UNION
    SELECT campaign_id FROM placements WHERE held_since IS NOT NULL
), placement AS (
    SELECT c.id, k.name, coalesce(l.held_why, e.message,
        CASE WHEN l.held_since IS NOT NULL THEN 'its prologue failed' END) AS why
    FROM held
    JOIN campaigns AS c ON c.id = held.campaign_id
    JOIN campaign_clusters AS cc ON cc.campaign_id = c.id AND cc.left_at IS NULL
    JOIN clusters AS k ON k.id = cc.cluster_id
    LEFT JOIN placements AS l ON l.campaign_id = c.id AND l.cluster_id = cc.cluster_id
    LEFT JOIN LATERAL (
        SELECT message FROM placement_blocks
        WHERE campaign_id = c.id AND cluster_id = cc.cluster_id
        LIMIT 1
    ) AS e ON true
    WHERE c.state = 'in_treatment' AND c.wanted = 'in_treatment' AND c.finishing_since IS NULL
        AND c.type <> 'test'
), reason AS (
    SELECT id, string_agg(name, ', ' ORDER BY name) || ': ' || why AS text
    FROM placement GROUP BY id, why
    HAVING bool_and(id NOT IN (SELECT id FROM placement WHERE why IS NULL))
), blocked AS (
    SELECT id, string_agg(text, '; ' ORDER BY text) AS why FROM reason GROUP BY id
)
UPDATE campaigns AS c
SET state = 'paused', state_reason = 'held everywhere: ' || blocked.why
FROM blocked
WHERE c.id = blocked.id
    AND NOT EXISTS (SELECT FROM jobs_in_flight AS n
        WHERE n.campaign_id = c.id
        GROUP BY n.campaign_id HAVING sum(n.n) > 0)
RETURNING c.id, c.state_reason;

-- name: TerminateCampaign
-- Nothing of campaign $1 is left to run.
UPDATE campaigns SET state = 'terminated', completion_time = now(), state_reason = NULL
WHERE id = $1 AND state = 'in_treatment';

-- name: UnansweredTests
-- returns: cluster_id int64, name text
-- Clusters of the test campaign $1 that have not answered within $2 seconds.
SELECT cc.cluster_id, k.name
FROM campaigns AS c
JOIN campaign_clusters AS cc ON cc.campaign_id = c.id AND cc.left_at IS NULL
JOIN clusters AS k ON k.id = cc.cluster_id
LEFT JOIN placements AS l ON l.campaign_id = c.id AND l.cluster_id = cc.cluster_id
WHERE c.id = $1 AND c.submission_time < now() - $2 * interval '1 second'
    AND NOT coalesce(l.answered_test, false);
