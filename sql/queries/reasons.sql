-- name: CapReasons
-- Keeps of each campaign the 2,000 reasons that ended last: a campaign on many clusters must not
-- fill the disk within months.
DELETE FROM reasons WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM (
        SELECT ctid, row_number() OVER (PARTITION BY campaign_id ORDER BY until DESC) AS k
        FROM reasons WHERE until IS NOT NULL AND campaign_id IN (
            SELECT campaign_id FROM reasons WHERE until IS NOT NULL GROUP BY campaign_id
                HAVING count(*) > 2000)
    ) AS ranked
    WHERE k > 2000 LIMIT $1));

-- name: CloseReasons
-- Reasons (campaign $1, cluster $2, code $3) that do not hold any more.
UPDATE reasons AS r SET until = now()
FROM unnest($1::bigint[], $2::int[], $3::text[]) AS o (campaign_id, cluster_id, code)
WHERE r.until IS NULL AND r.campaign_id = o.campaign_id AND r.cluster_id = o.cluster_id
    AND r.code = o.code;

-- name: CurrentReasons
-- returns: cluster_id int64, cluster text?, code text, numbers text, for_s double?, since double
-- What holds campaign $1 now, the whole campaign (cluster 0) first.
SELECT r.cluster_id, c.name AS cluster, r.code, r.numbers,
    extract(epoch FROM now() - r.since) AS for_s,
       extract(epoch FROM r.since) AS since
FROM reasons AS r LEFT JOIN clusters AS c ON c.id = r.cluster_id
WHERE r.campaign_id = $1 AND r.until IS NULL
ORDER BY r.cluster_id, r.since;

-- name: DropOldReasons
-- Removes reasons that have ended: those that held for less than a minute after an hour, the
-- others after 30 days.
DELETE FROM reasons WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM reasons
    WHERE until < now() - CASE WHEN until - since < interval '1 minute' THEN interval '1 hour'
        ELSE interval '30 days' END
    LIMIT $1));

-- name: OpenReasons
-- returns: campaign_id int64, cluster_id int64, code text, numbers text
-- Reasons that hold now.
SELECT campaign_id, cluster_id, code, numbers FROM reasons WHERE until IS NULL;

-- name: PastReasons
-- returns: cluster_id int64, cluster text?, code text, numbers text, since double, until double?
-- What held campaign $1 before, last first; at most $2.
SELECT r.cluster_id, c.name AS cluster, r.code, r.numbers, extract(epoch FROM r.since) AS since,
       extract(epoch FROM r.until) AS until
FROM reasons AS r LEFT JOIN clusters AS c ON c.id = r.cluster_id
WHERE r.campaign_id = $1 AND r.until IS NOT NULL
ORDER BY r.since DESC LIMIT $2;

-- name: PutReasons
-- Reasons that hold now. A reason that ended less than a minute ago and holds again continues
-- its row: one that comes and goes with every job would fill the history, and nobody could read
-- it.
WITH present AS (
    SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[], $4::text[]::jsonb[])
        AS p (campaign_id, cluster_id, code, numbers)
), resumed AS (
    UPDATE reasons AS r SET until = NULL, numbers = p.numbers
    FROM present AS p
    WHERE r.campaign_id = p.campaign_id AND r.cluster_id = p.cluster_id AND r.code = p.code
        AND r.until > now() - interval '1 minute'
        -- each half by its index
        AND NOT EXISTS (SELECT FROM reasons AS o WHERE o.campaign_id = p.campaign_id
            AND o.cluster_id = p.cluster_id AND o.code = p.code AND o.until IS NULL OFFSET 0)
        AND NOT EXISTS (SELECT FROM reasons AS o WHERE o.campaign_id = p.campaign_id
            AND o.cluster_id = p.cluster_id AND o.code = p.code AND o.until > r.until OFFSET 0)
    RETURNING r.campaign_id, r.cluster_id, r.code
)
INSERT INTO reasons AS r (campaign_id, cluster_id, code, numbers)
SELECT p.* FROM present AS p
WHERE NOT EXISTS (SELECT FROM resumed AS a WHERE a.campaign_id = p.campaign_id
    AND a.cluster_id = p.cluster_id AND a.code = p.code)
ON CONFLICT (campaign_id, cluster_id, code) WHERE until IS NULL DO UPDATE
    SET numbers = excluded.numbers;

-- name: PredecessorsOf
-- returns: after int64?, after_failed int64?, failed_tasks int64, since double
-- What campaign $1 waits for, before a decision has said so.
SELECT b.after, b.after_failed, b.failed_tasks, extract(epoch FROM c.submission_time) AS since
FROM campaigns AS c CROSS JOIN LATERAL predecessors_of(c.jdl) AS b
WHERE c.id = $1 AND (b.after IS NOT NULL OR b.after_failed IS NOT NULL);

-- name: ReasonHistory
-- returns: cluster_id int64, cluster text?, code text, numbers text, since double, until double?,
-- returns: total int64
-- What holds and held campaign $1, last first; $2 rows after the first $3.
SELECT r.cluster_id, c.name AS cluster, r.code, r.numbers, extract(epoch FROM r.since) AS since,
       extract(epoch FROM r.until) AS until, count(*) OVER () AS total
FROM (  -- each half by its index
    SELECT * FROM reasons WHERE campaign_id = $1 AND until IS NULL
    UNION ALL
    SELECT * FROM reasons WHERE campaign_id = $1 AND until IS NOT NULL
) AS r
LEFT JOIN clusters AS c ON c.id = r.cluster_id
ORDER BY r.since DESC, r.cluster_id, r.code LIMIT $2 OFFSET $3;
