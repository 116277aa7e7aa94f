-- name: AddGridstatus
-- A snapshot of the resources of cluster $1 and of our jobs there.
INSERT INTO gridstatus (cluster_id, max_resources, free_resources, used_resources,
    unavailable_resources, used_by_cigri, jobs_running, jobs_waiting, stress, note)
VALUES ($1, $2, $3, $4, $5,
    (SELECT coalesce(sum(slots), 0) FROM live WHERE cluster_id = $1 AND state = 'running'
        AND NOT rides),
    $6, $7, $8, $9)
ON CONFLICT DO NOTHING;

-- name: ClusterAnswers
-- returns: answers bool
-- Whether cluster $1 answered when it was asked last.
SELECT NOT EXISTS (SELECT FROM cluster_status WHERE cluster_id = $1 AND failing_since IS NOT NULL)
    AS answers;

-- name: ClusterHealth
-- returns: name text, kind text, api_url text, enabled bool, mode text, mode_limit int?,
-- returns: drained bool, drain_reason text?, polled_s double?, error text?, failing_s double?,
-- returns: clock_skew_s double?, home text?
-- Every cluster with how it does, for `cigri status` and `cigri doctor`.
SELECT c.name, c.kind, c.api_url, c.enabled, c.mode, c.mode_limit, c.drained, c.drain_reason,
       extract(epoch FROM now() - s.polled_at) AS polled_s, s.error,
       extract(epoch FROM now() - s.failing_since) AS failing_s, s.clock_skew_s,
       c.home
FROM clusters AS c LEFT JOIN cluster_status AS s ON s.cluster_id = c.id
ORDER BY c.name;

-- name: ClusterOutlook
-- returns: id int64, hours text?, drained_for double?, retry_in double?, rate double,
-- returns: now double
-- When clusters $1 may take more: ends per second there of late, of campaigns that are alive, and
-- what is known of their closing.
SELECT c.id, c.hours, extract(epoch FROM finite(c.drained_until) - now()) AS drained_for,
       extract(epoch FROM s.retry_at - now()) AS retry_in, coalesce(f.rate, 0) AS rate,
       extract(epoch FROM now()) AS now
FROM clusters AS c
LEFT JOIN cluster_status AS s ON s.cluster_id = c.id
LEFT JOIN (
    SELECT f.cluster_id, sum(f.rate) AS rate
    FROM campaigns AS p JOIN forecasts AS f ON f.campaign_id = p.id
    WHERE p.state IN ('in_treatment', 'paused') AND f.cluster_id = ANY ($1::int[])
        AND f.at > now() - interval '2 minutes'
    GROUP BY f.cluster_id
) AS f ON f.cluster_id = c.id
WHERE c.id = ANY ($1::int[]);

-- name: DropOldGridstatus
-- At most $1 snapshots of more than a year.
DELETE FROM gridstatus WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM gridstatus WHERE at < now() - interval '1 year' LIMIT $1));

-- name: FeedTokens
-- returns: cluster_id int64, feed_token text
-- Up to where the feed of each cluster has been applied.
SELECT cluster_id, feed_token FROM cluster_status WHERE feed_token IS NOT NULL;

-- name: GridUsage
-- returns: date int64, cluster_id int, cluster_name text, max_resources int,
-- returns: used_resources int, used_by_cigri int, unavailable_resources int, jobs_running int,
-- returns: jobs_waiting int
-- Snapshots of every cluster's resources between $1 and $2 (epoch seconds), oldest first; at most
-- 100,000.
SELECT floor(extract(epoch FROM g.at))::bigint AS date, g.cluster_id, c.name AS cluster_name,
    g.max_resources,
       g.used_resources, g.used_by_cigri, g.unavailable_resources, g.jobs_running, g.jobs_waiting
FROM gridstatus AS g JOIN clusters AS c ON c.id = g.cluster_id
WHERE g.at BETWEEN to_timestamp($1) AND to_timestamp($2)
ORDER BY g.at, g.cluster_id LIMIT 100000;

-- name: LastGridUsage
-- returns: date int64, cluster_id int, cluster_name text, max_resources int,
-- returns: used_resources int, used_by_cigri int, unavailable_resources int, jobs_running int,
-- returns: jobs_waiting int
-- The last snapshot of each enabled cluster's resources.
SELECT floor(extract(epoch FROM n.seen_at))::bigint AS date, n.cluster_id, c.name AS cluster_name,
       n.max_resources, n.used_resources, n.used_by_cigri, n.unavailable_resources, n.jobs_running,
       n.jobs_waiting
FROM clusters AS c JOIN cluster_now AS n ON n.cluster_id = c.id
WHERE c.enabled AND n.seen_at IS NOT NULL
ORDER BY n.cluster_id;

-- name: PutResourceClasses
-- All classes that cluster $1 was asked about: $2 request, $3 name ('' = it cannot count that), $4
-- total, $5 free.
WITH others AS (
    DELETE FROM resource_classes WHERE cluster_id = $1 AND request <> ALL ($2::text[])
)
INSERT INTO resource_classes (cluster_id, request, name, total, free, used_by_cigri)
SELECT $1, c.request, nullif(c.name, ''), c.total, c.free, (
    SELECT coalesce(sum(cc.class_units), 0) FROM live AS l
    JOIN campaign_clusters AS cc
        ON cc.campaign_id = l.campaign_id AND cc.cluster_id = l.cluster_id
    WHERE l.cluster_id = $1 AND l.state = 'running' AND NOT l.rides
        AND cc.resource_class = c.request)
FROM unnest($2::text[], $3::text[], $4::int[], $5::int[]) AS c (request, name, total, free)
ON CONFLICT (cluster_id, request) DO UPDATE SET
    name = excluded.name, total = excluded.total, free = excluded.free,
    used_by_cigri = excluded.used_by_cigri;

-- name: RequestedClasses
-- returns: cluster_id int64, request text
-- The resource classes that campaigns which are alive ask for.
SELECT DISTINCT cc.cluster_id, coalesce(cc.resource_class, '') AS request
FROM campaigns AS c
JOIN campaign_clusters AS cc ON cc.campaign_id = c.id AND cc.resource_class IS NOT NULL
    AND cc.left_at IS NULL
WHERE c.state IN ('in_treatment', 'paused')
ORDER BY 1, 2;

-- name: SchedulableClusters
-- returns: id int64, name text, kind text, power double, enabled bool, mode text,
-- returns: mode_limit int?, max_running int?, hours text?, drained bool, drain_reason text,
-- returns: stress_limit double, max_resources int, free_resources int, used_by_cigri int,
-- returns: stress double, failing bool, error text, age_s double, broken bool
-- Every cluster with its last snapshot, its health and our jobs there now.
SELECT k.id, k.name, k.kind, k.power, k.enabled, k.mode::text, k.mode_limit, k.max_running, k.hours,
    k.drained OR k.kill_all OR e.message IS NOT NULL AS drained,
        coalesce(k.drain_reason, e.message, '') AS drain_reason,
    k.stress_limit, coalesce(n.max_resources, 0) AS max_resources,
        coalesce(n.free_resources, 0) AS free_resources,
    coalesce(n.used_by_cigri, 0) AS used_by_cigri, coalesce(n.stress, 0) AS stress,
    n.failing_since IS NOT NULL AS failing, coalesce(n.error, '') AS error,
    coalesce(extract(epoch FROM now() - n.answered_at), 1e9) AS age_s,
        coalesce(n.retry_at > now(), false) AS broken
FROM clusters AS k
JOIN cluster_now AS n ON n.cluster_id = k.id
LEFT JOIN LATERAL (
    SELECT message FROM events WHERE state = 'open' AND campaign_id IS NULL AND cluster_id = k.id
        AND code = 'CLUSTER_MANUALLY_DISABLED' LIMIT 1
) AS e ON true
ORDER BY k.id;

-- name: SetClusterStatus
-- How cluster $1 did in its last poll. Successful polls are counted: the predictor learns once from
-- each.
INSERT INTO cluster_status AS s (cluster_id, polled_at, answered_at, failing_since, failures,
    retry_at, error, stress, calls_per_min, polls, clock_skew_s)
VALUES ($1, CASE WHEN $2 THEN now() END, CASE WHEN $2 THEN now() END,
    CASE WHEN NOT $2 THEN now() END, $3,
    CASE WHEN NOT $2 THEN now() + $4 * interval '1 second' END, $5, $6, $7,
    CASE WHEN $2 THEN 1 ELSE 0 END, $8)
ON CONFLICT (cluster_id) DO UPDATE SET
    polled_at = coalesce(excluded.polled_at, s.polled_at),
    answered_at = coalesce(excluded.answered_at, s.answered_at),
    failing_since = CASE WHEN $2 THEN NULL ELSE coalesce(s.failing_since, now()) END,
    failures = excluded.failures,
    retry_at = excluded.retry_at,
    error = excluded.error,
    stress = excluded.stress,
    calls_per_min = excluded.calls_per_min,
    polls = s.polls + excluded.polls,
    clock_skew_s = coalesce(excluded.clock_skew_s, s.clock_skew_s);

-- name: SetFeedToken
-- plan: generic
-- Up to where the feed of cluster $1 has been applied; written by the transaction that applies it,
-- so that nothing is lost or applied twice.
INSERT INTO cluster_status AS s (cluster_id, feed_token) VALUES ($1, $2)
ON CONFLICT (cluster_id) DO UPDATE SET feed_token = excluded.feed_token;

-- name: ThinGridstatus
-- Keeps all snapshots of the last hour, one a minute of the last day, one an hour of the last year:
-- looks at those that came to be an hour and a day old in the last $1 seconds. To rank all of them
-- took a minute on a large grid.
WITH ranked AS (
    SELECT ctid, row_number() OVER (PARTITION BY cluster_id, date_trunc(
        CASE WHEN at < now() - interval '1 day' THEN 'hour' ELSE 'minute' END, at) ORDER BY at) AS k
    FROM gridstatus
    WHERE at < now() - interval '1 hour'
            AND at >= date_trunc('minute', now() - interval '1 hour' - $1 * interval '1 second')
        OR at < now() - interval '1 day'
            AND at >= date_trunc('hour', now() - interval '1 day' - $1 * interval '1 second')
)
DELETE FROM gridstatus WHERE ctid = ANY (ARRAY(SELECT ctid FROM ranked WHERE k > 1));

-- name: Utilisation
-- returns: part double?
-- What part of the slots that local users left, and that were up, our jobs had in the last $1
-- seconds; NULL: there were none.
SELECT sum(used_by_cigri * s)
    / nullif(sum((max_resources - unavailable_resources
                  - greatest(used_resources - used_by_cigri, 0)) * s), 0) AS part
FROM (
    SELECT max_resources, unavailable_resources, used_resources, used_by_cigri,
        extract(epoch FROM lead(at, 1, now()) OVER (PARTITION BY cluster_id ORDER BY at) - at) AS s
    FROM gridstatus WHERE at >= now() - $1 * interval '1 second'
) AS g;
