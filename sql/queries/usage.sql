-- name: AddUsage
-- plan: generic
-- What jobs that have ended used, how they ended and how long they had waited, by the minute of
-- their end.
INSERT INTO usage AS u (bucket, campaign_id, cluster_id, grid_user, project, slot_s, ok, not_ok,
    program, infrastructure, preempted, killed, lost_s, waited, wait_s, waits)
SELECT date_trunc('minute', now()), e.campaign_id, e.cluster_id, c.grid_user, c.project, e.slot_s,
    e.ok, e.not_ok, e.program, e.infrastructure, e.preempted, e.killed, e.lost_s, e.waited,
    e.wait_s, e.waits::int[]
FROM unnest($1::bigint[], $2::int[], $3::float8[], $4::bigint[], $5::bigint[], $6::bigint[],
        $7::bigint[], $8::bigint[], $9::bigint[], $10::float8[], $11::bigint[], $12::float8[],
        $13::text[])
    AS e (campaign_id, cluster_id, slot_s, ok, not_ok, program, infrastructure, preempted, killed,
        lost_s, waited, wait_s, waits)
JOIN campaigns AS c ON c.id = e.campaign_id
ON CONFLICT (bucket, campaign_id, cluster_id) DO UPDATE SET
    slot_s = u.slot_s + excluded.slot_s,
    ok = u.ok + excluded.ok,
    not_ok = u.not_ok + excluded.not_ok,
    program = u.program + excluded.program,
    infrastructure = u.infrastructure + excluded.infrastructure,
    preempted = u.preempted + excluded.preempted,
    killed = u.killed + excluded.killed,
    lost_s = u.lost_s + excluded.lost_s,
    waited = u.waited + excluded.waited,
    wait_s = u.wait_s + excluded.wait_s,
    waits = add_histograms(u.waits, excluded.waits);

-- name: AggregateUsage
-- Usage of minutes older than a day becomes usage of hours, of hours older than a month that of
-- days ($1: the unit, $2: the width it is made from, $3: the age). The row at the start of the
-- unit takes up the others: at most $4 of them.
WITH old AS (
    DELETE FROM usage WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM usage
        WHERE width = $2::interval AND bucket < date_trunc($1, now() - $3::interval)
            AND bucket <> date_trunc($1, bucket)
        LIMIT $4))
    RETURNING *
)
INSERT INTO usage AS u (bucket, campaign_id, cluster_id, grid_user, project, slot_s, ok, not_ok,
    program, infrastructure, preempted, killed, lost_s, waited, wait_s, waits, width)
SELECT date_trunc($1, bucket), campaign_id, cluster_id, min(grid_user), min(project), sum(slot_s),
    sum(ok), sum(not_ok), sum(program), sum(infrastructure), sum(preempted), sum(killed),
    sum(lost_s), sum(waited), sum(wait_s), sum_histograms(waits), ('1 ' || $1)::interval
FROM old GROUP BY 1, 2, 3
ON CONFLICT (bucket, campaign_id, cluster_id) DO UPDATE
SET slot_s = u.slot_s + excluded.slot_s, ok = u.ok + excluded.ok,
    not_ok = u.not_ok + excluded.not_ok, program = u.program + excluded.program,
    infrastructure = u.infrastructure + excluded.infrastructure,
    preempted = u.preempted + excluded.preempted, killed = u.killed + excluded.killed,
    lost_s = u.lost_s + excluded.lost_s, waited = u.waited + excluded.waited,
    wait_s = u.wait_s + excluded.wait_s, waits = add_histograms(u.waits, excluded.waits);

-- name: SharesByUser
-- returns: project text, grid_user text, slot_s double, running int64, waiting int64
-- Who used what in the last $1 seconds, jobs that run included (all of what they have used), and
-- who wants something.
WITH had AS (
    SELECT project, grid_user, slot_s, 0::bigint AS running, 0::bigint AS waiting
    FROM usage WHERE bucket >= now() - $1 * interval '1 second'
    UNION ALL
    SELECT c.project, c.grid_user, extract(epoch FROM now()) * k.slots - k.sum_start, k.n, 0
    FROM counters AS k JOIN campaigns AS c ON c.id = k.campaign_id
    WHERE k.state = 'running' AND c.state NOT IN ('terminated', 'cancelled')
    UNION ALL
    SELECT c.project, c.grid_user, 0, 0, cur.waiting
    FROM campaigns AS c JOIN campaign_cursor AS cur ON cur.campaign_id = c.id
    WHERE c.state = 'in_treatment' AND cur.waiting > 0
)
SELECT project, grid_user, sum(slot_s) AS slot_s, sum(running)::bigint AS running,
    sum(waiting)::bigint AS waiting
FROM had GROUP BY 1, 2 HAVING sum(slot_s) > 0 OR sum(waiting) > 0
ORDER BY 3 DESC, 1, 2;

-- name: UsageReport
-- returns: key text, used double, lost double, ok int64, program int64, infrastructure int64,
-- returns: preempted int64, killed int64, waited int64, wait_s double, waits int64[]
-- Usage by $1 (user, project, campaign, cluster, day, month; else one row of all) since $2 and
-- before $3 (epoch s), of user $4, project $5, campaign $6 and cluster $7 (NULL: any). Days and
-- months in their order, else who has used most first; at most $8. A row of `usage` is a bucket of
-- time, not a job, so this is as fast with 10 million jobs as with few.
WITH part AS (
    SELECT CASE $1 WHEN 'user' THEN u.grid_user WHEN 'project' THEN coalesce(
            nullif(u.project, ''), '-') WHEN 'campaign' THEN u.campaign_id::text
        WHEN 'cluster' THEN coalesce(c.name, u.cluster_id::text)
        WHEN 'day' THEN to_char(u.bucket, 'YYYY-MM-DD')
        WHEN 'month' THEN to_char(u.bucket, 'YYYY-MM') ELSE 'all' END AS key, u.*
    FROM usage AS u LEFT JOIN clusters AS c ON c.id = u.cluster_id
    WHERE u.bucket >= to_timestamp($2) AND u.bucket < to_timestamp($3)
        AND ($4::text IS NULL OR u.grid_user = $4) AND ($5::text IS NULL OR u.project = $5)
        AND ($6::bigint IS NULL OR u.campaign_id = $6) AND ($7::text IS NULL OR c.name = $7)
), summed AS (
    SELECT key, sum(slot_s) AS used, sum(lost_s) AS lost, sum(ok)::bigint AS ok,
        sum(program)::bigint AS program, sum(infrastructure)::bigint AS infrastructure,
        sum(preempted)::bigint AS preempted, sum(killed)::bigint AS killed,
        sum(waited)::bigint AS waited, sum(wait_s) AS wait_s
    FROM part GROUP BY key
    ORDER BY CASE WHEN $1 IN ('day', 'month') THEN 0 ELSE -sum(slot_s) END, key LIMIT $8
), histograms AS (
    SELECT key, array_agg(n ORDER BY i) AS waits
    FROM (SELECT key, i, sum(n)::bigint AS n
        FROM part, unnest(waits) WITH ORDINALITY AS w (n, i) GROUP BY 1, 2) AS h
    GROUP BY key
)
SELECT s.key, used, lost, ok, program, infrastructure, preempted, killed, waited, wait_s, waits
FROM summed AS s LEFT JOIN histograms AS h USING (key)
ORDER BY CASE WHEN $1 IN ('day', 'month') THEN 0 ELSE -used END, key;

-- name: UsageSteps
-- returns: campaign_id int64, grid_user text, project text, start double, slot_s double, jobs int64
-- Slot-seconds since $1 (epoch s) and before $2, in steps of $3 seconds: of each campaign of $4,
-- and of all others of a user and project together, as campaign 0.
SELECT coalesce(c.id, 0) AS campaign_id, u.grid_user, u.project,
    floor(extract(epoch FROM u.bucket) / $3) * $3 AS start, sum(u.slot_s) AS slot_s,
    sum(u.ok + u.not_ok)::bigint AS jobs
FROM usage AS u LEFT JOIN unnest($4::bigint[]) AS c (id) ON c.id = u.campaign_id
WHERE u.bucket >= to_timestamp($1) AND u.bucket < to_timestamp($2)
GROUP BY 1, 2, 3, 4;

-- name: WidenUsage
-- Marks the rows that AggregateUsage has added the others to with their new width.
UPDATE usage SET width = ('1 ' || $1)::interval
WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM usage AS u
    WHERE width = $2::interval AND bucket < date_trunc($1, now() - $3::interval)
        AND bucket = date_trunc($1, bucket)
        AND NOT EXISTS (SELECT FROM usage AS o WHERE o.campaign_id = u.campaign_id
            AND o.cluster_id = u.cluster_id
            AND o.width = $2::interval AND o.bucket > u.bucket
                AND o.bucket < u.bucket + ('1 ' || $1)::interval)
    LIMIT $4));

-- name: UsageOfCampaign
-- returns: at double, width double, ok int64, not_ok int64, slot_s double
-- What campaign $1 used, over its life cut into at most $2 buckets of at least a minute; buckets
-- without an end are left out.
WITH life AS (
    SELECT bucket, sum(ok) AS ok, sum(not_ok) AS not_ok, sum(slot_s) AS slot_s,
        min(bucket) OVER () AS first, max(bucket) OVER () AS last, max(max(width)) OVER () AS widest
    FROM usage WHERE campaign_id = $1 GROUP BY bucket
), cut AS (
    SELECT *, greatest(extract(epoch FROM widest), 60,
        60 * ceil((extract(epoch FROM last - first) + 60) / (60 * $2::int))) AS width_s
    FROM life
)
SELECT extract(epoch FROM first) + width_s * floor(extract(epoch FROM bucket - first) / width_s)
        AS at,
    min(width_s) AS width, sum(ok)::bigint AS ok, sum(not_ok)::bigint AS not_ok,
    sum(slot_s)::float8 AS slot_s
FROM cut GROUP BY 1 ORDER BY 1;
