-- name: AddSurvival
-- plan: generic
-- Adds to the histograms of how long jobs lived on clusters $1: those that were killed for the
-- clusters' own users ($2) and the others ($3). When a pair of histograms is full, its old numbers
-- are halved first, so that what happened long ago counts less and less.
INSERT INTO cluster_survival AS c (cluster_id, killed, ended)
SELECT e.cluster_id, e.killed::int[], e.ended::int[]
FROM unnest($1::int[], $2::text[], $3::text[]) AS e (cluster_id, killed, ended)
ON CONFLICT (cluster_id) DO UPDATE SET (killed, ended) = (
    SELECT coalesce(array_agg(coalesce(k, 0) / f.divisor + coalesce(new_k, 0) ORDER BY i), '{}'),
        coalesce(array_agg(coalesce(n, 0) / f.divisor + coalesce(new_n, 0) ORDER BY i), '{}')
    FROM unnest(c.killed, c.ended, excluded.killed, excluded.ended) WITH ORDINALITY
            AS h (k, n, new_k, new_n, i),
        (SELECT CASE WHEN sum(x) > 20000 THEN 2 ELSE 1 END AS divisor
         FROM unnest(c.killed || c.ended) AS x) AS f);

-- name: ClusterSurvival
-- returns: cluster_id int64, killed int64[], ended int64[]
-- How long our jobs survive on each cluster before it kills them, as histograms.
SELECT cluster_id, killed::bigint[] AS killed, ended::bigint[] AS ended FROM cluster_survival;

-- name: InsertBlackHoles
-- Black holes for the updator to requeue from: campaign $1, cluster $2, jobs $3, until
-- $4 (epoch s).
INSERT INTO black_holes (campaign_id, cluster_id, n, until)
SELECT s.campaign_id, s.cluster_id, s.n, to_timestamp(s.until)
FROM unnest($1::bigint[], $2::int[], $3::int[], $4::float8[])
    AS s (campaign_id, cluster_id, n, until)
ON CONFLICT (campaign_id, cluster_id) DO NOTHING;

-- name: TakeBlackHoles
-- returns: campaign_id int64, cluster_id int64, idx int64, kind text, slots int64
-- Placements that the metascheduler has found to be black holes (CIG-11): the last successes there
-- do not count any more, their tasks are retried elsewhere (one with a copy in flight when that
-- fails), and the placement gets nothing for a while. What it has learnt there of durations was of
-- jobs that did nothing: it is forgotten. A campaign that is over stays over.
WITH black_hole AS (
    DELETE FROM black_holes RETURNING campaign_id, cluster_id, n, until
), seen AS (
    SELECT s.campaign_id, s.cluster_id, t.idx
    FROM black_hole AS s
    JOIN campaigns AS c ON c.id = s.campaign_id AND c.state IN ('in_treatment', 'paused')
        AND c.finishing_since IS NULL
    JOIN placements AS l ON l.campaign_id = s.campaign_id AND l.cluster_id = s.cluster_id
    CROSS JOIN LATERAL
        unnest(l.recent_idx[greatest(cardinality(l.recent_idx) - s.n + 1, 1):]) AS t (idx)
), excluded_for AS (
    UPDATE placements AS l
    SET black_hole_since = now(), black_hole_until = s.until, recent_s = NULL, recent_idx = NULL,
        verified = false, ended = 0, program_failures = 0,
        n_ok = 0, sum_s = 0, sum_sq = 0, sum_transfer_s = 0, min_s = NULL, max_s = NULL, hist = NULL
    FROM black_hole AS s WHERE l.campaign_id = s.campaign_id AND l.cluster_id = s.cluster_id
), back AS (
    UPDATE done AS d SET counted = false, code = 'BLACK_HOLE' FROM seen
    WHERE d.campaign_id = seen.campaign_id AND d.idx = seen.idx AND d.counted
        AND d.cluster_id = seen.cluster_id
    RETURNING d.campaign_id, d.cluster_id, d.idx, d.kind, d.slots
), retried AS (
    INSERT INTO retry (campaign_id, idx, rank, avoid, why)
    SELECT campaign_id, idx, 0, ARRAY[cluster_id], 'BLACK_HOLE' FROM back AS b
    WHERE NOT EXISTS (SELECT FROM live AS l WHERE l.campaign_id = b.campaign_id AND l.idx = b.idx)
    ON CONFLICT (campaign_id, idx) DO NOTHING
)
SELECT campaign_id, cluster_id, idx, kind::text, slots FROM back;
