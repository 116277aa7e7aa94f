-- name: ExcludeNode
-- returns: until_s double
-- Node $2 of cluster $1 gets no job for 5 minutes. No row: the cluster is this machine, which has
-- no other node.
INSERT INTO bad_nodes AS n (cluster_id, node, until)
SELECT id, $2, now() + interval '5 minutes' FROM clusters WHERE id = $1 AND NOT dedicated
ON CONFLICT (cluster_id, node) DO UPDATE
SET until = greatest(n.until, excluded.until)
RETURNING extract(epoch FROM until - now()) AS until_s;

-- name: NodesToTry
-- returns: node text
-- Nodes of cluster $1 whose time is over, and that no job tries yet.
SELECT n.node FROM bad_nodes AS n
WHERE n.cluster_id = $1 AND n.until <= now() AND NOT EXISTS (
    SELECT FROM batches AS b
    WHERE b.cluster_id = n.cluster_id AND b.node = n.node
        AND (b.state IN ('intended', 'in_doubt')
            OR b.state = 'recorded' AND EXISTS (SELECT FROM live AS l WHERE l.batch_id = b.id)))
ORDER BY n.until;

-- name: ReadmitNodes
-- returns: cluster_id int64, node text
-- Nodes that an operator has given back: their event is closed.
DELETE FROM bad_nodes AS n
WHERE NOT EXISTS (
    SELECT FROM events AS e
    WHERE e.state = 'open' AND e.code = 'BLACK_HOLE_NODE' AND e.cluster_id = n.cluster_id
        AND e.fingerprint = n.node)
RETURNING n.cluster_id::bigint AS cluster_id, n.node;

-- name: RefundFailures
-- returns: event_id int64?
-- Tasks ($1 campaign, $2 index; once for each job that failed) were not at fault, $3 says why: they
-- lose no try; those that were given up are retried, unless their campaign is over. The answer: the
-- events that no other task waits for.
WITH failed AS (
    SELECT f.campaign_id, f.idx, count(*) AS n
    FROM unnest($1::bigint[], $2::bigint[]) AS f (campaign_id, idx)
    JOIN campaigns AS c ON c.id = f.campaign_id AND c.state IN ('in_treatment', 'paused')
        AND c.finishing_since IS NULL
    GROUP BY 1, 2
), refunded AS (
    UPDATE tries AS t SET program = greatest(t.program - f.n, 0) FROM failed AS f
    WHERE t.campaign_id = f.campaign_id AND t.idx = f.idx
), back AS (
    DELETE FROM needs_attention AS t USING failed AS f
    WHERE t.campaign_id = f.campaign_id AND t.idx = f.idx
    RETURNING t.campaign_id, t.idx, t.event_id
), moved AS (
    INSERT INTO retry (campaign_id, idx, rank, why)
    SELECT campaign_id, idx, 0, $3 FROM back
    ON CONFLICT DO NOTHING
)
SELECT DISTINCT b.event_id FROM back AS b
WHERE b.event_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM needs_attention AS o
    WHERE o.event_id = b.event_id
        AND NOT EXISTS (
            SELECT FROM back WHERE back.campaign_id = o.campaign_id AND back.idx = o.idx));

-- name: SettleTrials
-- returns: cluster_id int64, node text, passed bool
-- The ends of jobs $1 that were sent to try a node; $2: with success, $3: no failure of the job or
-- its node. A success gives the node back; a failure excludes it for twice as long, up to a day.
WITH trial AS (
    SELECT DISTINCT n.cluster_id, n.node, t.ok, t.unknown
    FROM unnest($1::bigint[], $2::boolean[], $3::boolean[]) AS t (batch_id, ok, unknown)
    JOIN batches AS b ON b.id = t.batch_id AND b.node IS NOT NULL
    JOIN bad_nodes AS n ON n.cluster_id = b.cluster_id AND n.node = b.node
), passed AS (
    DELETE FROM bad_nodes AS n USING trial AS t
    WHERE t.ok AND n.cluster_id = t.cluster_id AND n.node = t.node
    RETURNING n.cluster_id, n.node
), failed AS (
    UPDATE bad_nodes AS n
    SET times = n.times + 1, until = now() + least(interval '5 minutes' * 2 ^ least(n.times, 9),
        interval '1 day')
    FROM trial AS t
    WHERE NOT t.ok AND NOT t.unknown AND n.cluster_id = t.cluster_id AND n.node = t.node
    RETURNING n.cluster_id, n.node
)
SELECT cluster_id::bigint AS cluster_id, node, true AS passed FROM passed
UNION ALL
SELECT cluster_id::bigint, node, false FROM failed;

-- name: UsersOfCampaigns
-- returns: n int64
SELECT count(DISTINCT grid_user) AS n FROM campaigns WHERE id = ANY ($1::bigint[]);
