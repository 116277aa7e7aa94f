-- name: BatchOfJob
-- returns: id int64, campaign_id int64, cluster_id int, cluster text, kind text, state text,
-- returns: tag text, slots int, element int, error text?, created double?, idx int64,
-- returns: grid_user text, first_task_id int64, cluster_login text?, walltime_s int?,
-- returns: resources text?, best_effort bool?, exec_directory text?
-- The batch that job $1 was or will be sent in, and the task it is an attempt of.
SELECT b.id, b.campaign_id, b.cluster_id, cl.name AS cluster, b.kind, b.state, b.tag, b.slots,
       ($1 - b.first_job_id)::int AS element, b.error, extract(epoch FROM b.created_at) AS created,
       CASE WHEN b.idxs IS NOT NULL THEN b.idxs[$1 - b.first_job_id + 1]
            WHEN b.first_idx IS NOT NULL THEN b.first_idx + $1 - b.first_job_id
            ELSE -1 END AS idx,
       c.grid_user, c.first_task_id, cc.cluster_login,
       coalesce(b.walltime_s, cc.walltime_s) AS walltime_s, cc.resources, cc.best_effort,
       cc.exec_directory
FROM (SELECT * FROM batches WHERE first_job_id <= $1 ORDER BY first_job_id DESC LIMIT 1) AS b
JOIN campaigns AS c ON c.id = b.campaign_id
JOIN clusters AS cl ON cl.id = b.cluster_id
LEFT JOIN campaign_clusters AS cc ON cc.campaign_id = b.campaign_id AND cc.cluster_id = b.cluster_id
WHERE $1 < b.first_job_id + b.n;

-- name: BatchRefs
-- returns: id int64, tag text, first_job_id int64, cluster_id int64, cluster_login text?,
-- returns: walltime_s int?
-- What a cluster needs to find the jobs of batches $1: tag, first job, and who they run as there.
SELECT b.id, b.tag, b.first_job_id, b.cluster_id, cc.cluster_login,
    coalesce(b.walltime_s, cc.walltime_s) AS walltime_s
FROM batches AS b
LEFT JOIN campaign_clusters AS cc ON cc.campaign_id = b.campaign_id AND cc.cluster_id = b.cluster_id
WHERE b.id = ANY ($1::bigint[]);

-- name: BatchSettings
-- returns: grid_user text, name text, format text, columns text[], exec_file text,
-- returns: exec_directory text, setup text, resources text, properties text, walltime_s int,
-- returns: project text, best_effort bool, job_types text[], prologue text?, epilogue text?,
-- returns: prologue_walltime_s int, epilogue_walltime_s int, options text, cluster_login text,
-- returns: test_mode bool, excluded_nodes text[], cluster_options text, lifetime_s double?,
-- returns: copies bool
-- plan: generic
-- What the jobs of campaign $1 on cluster $2 are, and the nodes that they must not get. Those of
-- batch $3 may have a longer walltime.
SELECT c.grid_user, c.name, c.format, c.columns, cc.exec_file, cc.exec_directory, cc.setup,
    cc.resources,
    cc.properties, coalesce(b.walltime_s, cc.walltime_s) AS walltime_s, cc.project, cc.best_effort,
    cc.job_types, cc.prologue, cc.epilogue,
    coalesce(cc.prologue_walltime_s, cc.walltime_s) AS prologue_walltime_s,
    coalesce(cc.epilogue_walltime_s, cc.walltime_s) AS epilogue_walltime_s,
    cc.options, cc.cluster_login, cc.test_mode,
    ARRAY(SELECT n.node FROM bad_nodes AS n WHERE n.cluster_id = $2 ORDER BY n.node)
        AS excluded_nodes,
    cl.options AS cluster_options,
    (SELECT v.lifetime_s FROM cluster_lifetimes AS v WHERE v.cluster_id = $2) AS lifetime_s,
    c.max_replicas > 0 AS copies
FROM campaigns AS c
JOIN campaign_clusters AS cc ON cc.campaign_id = c.id
JOIN clusters AS cl ON cl.id = cc.cluster_id
LEFT JOIN batches AS b ON b.id = $3
WHERE c.id = $1 AND cc.cluster_id = $2;

-- name: BatchesInFlight
-- returns: id int64, first_job_id int64, campaign_id int64, cluster_id int64, tag text, n int,
-- returns: cluster_login text?, walltime_s int?, tries_node bool,
-- returns: tasks_per_job int
-- Every batch with jobs in flight.
SELECT b.id, b.first_job_id, b.campaign_id, b.cluster_id, b.tag, b.n, cc.cluster_login,
    coalesce(b.walltime_s, cc.walltime_s) AS walltime_s, b.node IS NOT NULL AS tries_node,
    b.tasks_per_job
FROM batches AS b
LEFT JOIN campaign_clusters AS cc
    ON cc.campaign_id = b.campaign_id AND cc.cluster_id = b.cluster_id
WHERE b.id IN (SELECT DISTINCT batch_id FROM live);

-- name: BatchMayBeSent
-- returns: yes bool
-- plan: generic
-- Whether nobody else has decided on batch $1, and its time is not over: by the database's clock,
-- which goes on while a host stands still.
SELECT EXISTS (SELECT FROM batches
    WHERE id = $1 AND state = 'intended' AND send_by > clock_timestamp()) AS yes;

-- name: CloseBatch
-- The end of a batch none of whose jobs is on the cluster: refused, or abandoned after a doubt.
UPDATE batches SET state = $2::batch_state, error = $3, doubtful_since = NULL
WHERE id = $1 AND state IN ('intended', 'in_doubt');

-- name: CountUnsentBatches
-- returns: n int64, wait_s double
-- Batches of clusters $1 whose POST may still start, and the seconds until the last of them may
-- not.
-- A runner looks at send_by right before it sends.
SELECT count(*) AS n, coalesce(extract(epoch FROM max(send_by) - clock_timestamp()), 0) AS wait_s
FROM batches
WHERE cluster_id = ANY ($1::int[]) AND state = 'intended' AND send_by > clock_timestamp();

-- name: GiveBackTasks
-- The elements $2 of batch $1 are certainly not on the cluster: requeues their tasks at the front.
-- (A batch that is partly there is recorded already; then this moves only its missing tasks.)
-- Of copies those whose task has no other place: all its other copies have ended meanwhile.
-- REQUIRES: in an earlier statement, the batch was closed or recorded, which waits for the ends
-- that are being written (LockCopies).
INSERT INTO retry (campaign_id, idx, rank, why)
SELECT b.campaign_id, t.idx, 0, $3
FROM batches AS b, unnest($2::int[]) AS e (element),
    LATERAL (SELECT coalesce(b.idxs[e.element + 1], b.first_idx + e.element) AS idx) AS t
WHERE b.id = $1 AND (b.kind IN ('task', 'test') OR (b.kind = 'replica'
    AND NOT EXISTS (SELECT FROM live AS l WHERE l.campaign_id = b.campaign_id AND l.idx = t.idx)
    AND NOT EXISTS (SELECT FROM done AS d WHERE d.campaign_id = b.campaign_id AND d.idx = t.idx
        AND d.counted)
    AND NOT EXISTS (SELECT FROM needs_attention AS n WHERE n.campaign_id = b.campaign_id
        AND n.idx = t.idx)
    AND NOT EXISTS (SELECT FROM batches AS o WHERE o.campaign_id = b.campaign_id
        AND o.state IN ('intended', 'in_doubt')
        AND t.idx = ANY (o.idxs))))
ON CONFLICT DO NOTHING;

-- name: IntendBatches
-- returns: id int64, first_job_id int64, tag text
-- plan: generic
-- Writes the intents, one row per POST to come, and takes the ids of their $1 jobs. A walltime that
-- is multiplied stays within what the cluster allows; one that is left to the grid (auto_walltime)
-- within what the campaign asks for. Tasks that share a job begin in its first half.
WITH ids AS (
    UPDATE id_blocks SET next = next + $1 WHERE name = 'job' RETURNING next - $1 AS first
)
INSERT INTO batches (first_job_id, kind, campaign_id, cluster_id, n, first_idx, idxs, slots, tag,
    epoch, send_by, released, walltime_s, tasks_per_job, node)
SELECT ids.first + b.job_offset, b.kind::batch_kind, b.campaign_id, $2, b.n, b.first_idx,
    b.idxs::bigint[], b.slots, b.tag, $3, now() + $4 * interval '1 second', $5, w.s,
    b.tasks_per_job, b.node
FROM ids, unnest($6::bigint[], $7::text[], $8::bigint[], $9::int[], $10::bigint[], $11::text[],
    $12::int[], $13::text[], $14::float8[], $15::int[], $16::text[], $17::int[])
    AS b (job_offset, kind, campaign_id, n, first_idx, idxs, slots, tag, walltime_x, tasks_per_job,
        node, least_walltime_s)
LEFT JOIN LATERAL (
    SELECT CASE WHEN b.walltime_x > 1
            THEN greatest(cc.walltime_s, least(ceil(cc.walltime_s * b.walltime_x),
                CASE WHEN jsonb_typeof(k.options -> 'max_walltime') = 'number'
                    THEN (k.options ->> 'max_walltime')::float8 END, 31536000))::int
        WHEN b.kind = 'task' AND cc.options -> 'auto_walltime' = 'true'
                AND (f.walltime_s > 0 OR b.least_walltime_s > 0)
            THEN least(cc.walltime_s, greatest(b.least_walltime_s, f.walltime_s::bigint
                * CASE WHEN b.tasks_per_job > 1 THEN b.tasks_per_job + 1 ELSE 1 END))::int
        END AS s
    FROM campaign_clusters AS cc JOIN clusters AS k ON k.id = cc.cluster_id
    LEFT JOIN forecasts AS f
        ON f.campaign_id = cc.campaign_id AND f.cluster_id = cc.cluster_id
    WHERE cc.campaign_id = b.campaign_id AND cc.cluster_id = $2
) AS w ON true
RETURNING id, first_job_id, tag;

-- name: MarkInDoubt
-- Nobody knows whether the cluster has taken it: the runner looks its tag up.
UPDATE batches
SET state = 'in_doubt', doubtful_since = now(), next_lookup_at = now(), error = $2
WHERE id = $1 AND state = 'intended';

-- name: MarkReleased
-- The cluster has released the jobs of batch $1.
UPDATE batches SET released = true WHERE id = $1;

-- name: NewBatches
-- returns: id int64, first_job_id int64, campaign_id int64, cluster_id int64, tag text, n int,
-- returns: cluster_login text?, walltime_s int?, tries_node bool,
-- returns: tasks_per_job int
-- Batches recorded by transactions from $1 on; some may be known already.
SELECT b.id, b.first_job_id, b.campaign_id, b.cluster_id, b.tag, b.n, cc.cluster_login,
    coalesce(b.walltime_s, cc.walltime_s) AS walltime_s, b.node IS NOT NULL AS tries_node,
    b.tasks_per_job
FROM batches AS b
LEFT JOIN campaign_clusters AS cc
    ON cc.campaign_id = b.campaign_id AND cc.cluster_id = b.cluster_id
WHERE b.recorded_xid >= $1::xid8 AND b.state = 'recorded';

-- name: NoteAbsence
-- A lookup that settled nothing: a complete answer without the tag ($2 = 1), or a failed or partial
-- one ($2 = 0). The next lookup is due in $3 seconds.
UPDATE batches
SET absences = absences + $2,
    first_absence_at = CASE WHEN $2 > 0 THEN coalesce(first_absence_at, now())
                            ELSE first_absence_at END,
    next_lookup_at = now() + $3 * interval '1 second'
WHERE id = $1 AND state = 'in_doubt';

-- name: OpenBatches
-- returns: id int64, state text, tag text, campaign_id int64, kind text, n int, slots int,
-- returns: first_job_id int64, first_idx int64?, idxs int64[], absences int,
-- returns: created_at double, send_over bool, quiet_s double?, due bool, lost bool,
-- returns: cluster_login text, tasks_per_job int
-- Batches of cluster $1 whose outcome is unknown, the oldest first. `lost`: an operator or the
-- campaign's lost_after has given up what was sent there before.
SELECT b.id, b.state::text, b.tag, b.campaign_id, b.kind::text, b.n, b.slots, b.first_job_id,
    b.first_idx, b.idxs, b.absences,
    extract(epoch FROM b.created_at) AS created_at, now() >= b.send_by AS send_over,
    extract(epoch FROM now() - greatest(b.send_by, b.doubtful_since,
        b.first_absence_at)) AS quiet_s,
    coalesce(b.next_lookup_at <= now(), true) AS due,
    coalesce(k.lost_at > b.created_at, false)
    OR coalesce(b.doubtful_since < now() - c.lost_after_s * interval '1 second', false) AS lost,
    coalesce(cc.cluster_login, c.grid_user) AS cluster_login, b.tasks_per_job
FROM batches AS b
JOIN clusters AS k ON k.id = b.cluster_id
JOIN campaigns AS c ON c.id = b.campaign_id
LEFT JOIN campaign_clusters AS cc ON cc.campaign_id = b.campaign_id AND cc.cluster_id = b.cluster_id
WHERE b.cluster_id = $1 AND b.state IN ('intended', 'in_doubt')
ORDER BY b.id
LIMIT 200;

-- name: PutStillHeld
-- Batches $2 of cluster $1 whose jobs are still on hold long after they were recorded.
INSERT INTO still_held (batch_id, cluster_id)
SELECT unnest($2::bigint[]), $1
ON CONFLICT DO NOTHING;

-- name: RecordBatch
-- plan: generic
-- The cluster has the jobs: inserts their live rows, complete. $2, $3, $4: remote id, element,
-- attempt.
WITH b AS (
    UPDATE batches
    SET state = 'recorded', recorded_at = now(), recorded_xid = pg_current_xact_id(),
        remote_id = $5,
        doubtful_since = NULL, released = NOT $6
    WHERE id = $1 AND state IN ('intended', 'in_doubt')
    RETURNING id, first_job_id, campaign_id, cluster_id, kind, n, first_idx, idxs, slots,
        tasks_per_job
)
INSERT INTO live (job_id, campaign_id, idx, kind, batch_id, element, cluster_id, remote_id, attempt,
    slots, rides)
SELECT b.first_job_id + e.element, b.campaign_id,
    coalesce(b.idxs[e.element + 1], b.first_idx + e.element, -1),
    b.kind, b.id, e.element, b.cluster_id, e.remote_id, e.attempt, b.slots,
    (e.element + 1) % b.tasks_per_job <> 0 AND e.element + 1 <> b.n
FROM b, unnest($2::text[], $3::int[], $4::int[]) AS e (remote_id, element, attempt);

-- name: TagStates
-- returns: tag text, state text
-- The states of the batches with tags $1; a tag without a batch is not listed, unless the runner
-- may find out after a restore that it is one of ours.
SELECT t.tag, coalesce(b.state::text, 'in_doubt') AS state
FROM unnest($1::text[]) AS t (tag)
LEFT JOIN batches AS b USING (tag)
WHERE b.tag IS NOT NULL OR EXISTS (SELECT FROM restored_clusters);

-- name: TakeOverJobs
-- returns: slots int
-- The jobs $4 that a CiGri 3 has on cluster $2 under the name $5, with the tasks from $3 on of
-- campaign $1: a batch that is recorded, as if we had sent it. The cursor passes them.
WITH ids AS (
    UPDATE id_blocks SET next = next + cardinality($4::text[]) WHERE name = 'job'
    RETURNING next - cardinality($4::text[]) AS first
), b AS (
    INSERT INTO batches (first_job_id, kind, campaign_id, cluster_id, n, first_idx, slots, tag,
        state, epoch, send_by, recorded_at, recorded_xid, remote_id)
    SELECT ids.first, 'task', $1, $2, cardinality($4::text[]), $3, cc.slots, $5, 'recorded', 0,
        now(), now(), pg_current_xact_id(), ($4::text[])[1]
    FROM ids, campaign_clusters AS cc WHERE cc.campaign_id = $1 AND cc.cluster_id = $2
    RETURNING id, campaign_id, cluster_id, first_job_id, first_idx, n, slots
), passed AS (
    UPDATE campaign_cursor AS c SET next_idx = b.first_idx + b.n
    FROM b WHERE c.campaign_id = b.campaign_id
)
INSERT INTO live (job_id, campaign_id, idx, kind, batch_id, element, cluster_id, remote_id, attempt,
    slots)
SELECT b.first_job_id + e.n - 1, b.campaign_id, b.first_idx + e.n - 1, 'task', b.id, e.n - 1,
    b.cluster_id, e.remote_id, 1, b.slots
FROM b, unnest($4::text[]) WITH ORDINALITY AS e (remote_id, n)
RETURNING slots;

-- name: UnreleasedBatches
-- returns: id int64, tag text, campaign_id int64, released_before bool, remote_ids text[],
-- returns: cluster_login text
-- Recorded batches of cluster $1 that are on hold there: the runner has not released them yet, or
-- the updator has seen them on hold after that (`again`). Takes the updator's notes.
WITH reported AS (
    DELETE FROM still_held WHERE cluster_id = $1 RETURNING batch_id
), held AS (
    SELECT id, false AS released_before FROM batches
    WHERE cluster_id = $1 AND state = 'recorded' AND NOT released
    UNION
    SELECT batch_id, true FROM reported
)
SELECT b.id, b.tag, b.campaign_id, bool_and(h.released_before) AS released_before,
    array_agg(l.remote_id ORDER BY l.element) AS remote_ids,
    coalesce(cc.cluster_login, c.grid_user) AS cluster_login
FROM held AS h
JOIN batches AS b ON b.id = h.id
JOIN live AS l ON l.batch_id = b.id AND l.job_id BETWEEN b.first_job_id AND b.first_job_id + b.n - 1
JOIN campaigns AS c ON c.id = b.campaign_id
LEFT JOIN campaign_clusters AS cc ON cc.campaign_id = b.campaign_id AND cc.cluster_id = b.cluster_id
GROUP BY b.id, cc.cluster_login, c.grid_user;
