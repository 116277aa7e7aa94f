-- name: AddErrorClass
-- returns: item text
-- A new error class, from the values that an operator has given.
INSERT INTO error_classes
    (name, title, priority, mode, source, code, pattern, exit_class, cluster_fault, action, n,
    factor, changed_by)
SELECT $1, coalesce(v.title, ''), coalesce(v.priority, 100), coalesce(v.mode, 'passive'),
    coalesce(v.source, 'any'), coalesce(v.code, ''), coalesce(v.pattern, ''), v.exit_class,
    coalesce(v.cluster_fault, false), v.action, coalesce(v.n, 3), coalesce(v.factor, 1.5), $3
FROM jsonb_populate_record(NULL::error_classes, $2::jsonb) AS v
RETURNING to_jsonb(error_classes) AS item;

-- name: ChangeErrorClass
-- returns: item text
-- Changes what is given in $2 of error class $1.
UPDATE error_classes AS e
SET title = v.title, priority = v.priority, mode = v.mode, source = v.source, code = v.code,
    pattern = v.pattern, exit_class = v.exit_class, cluster_fault = v.cluster_fault,
    action = v.action, n = v.n, factor = v.factor, changed_by = $3, changed_at = now()
FROM error_classes AS old, jsonb_populate_record(old, $2::jsonb) AS v
WHERE old.name = $1 AND e.name = $1
RETURNING to_jsonb(e) AS item;

-- name: CountErrorMatches
-- Ends that error class $1 has matched ($2 more), with the message of one of them.
UPDATE error_classes SET matches = matches + $2, last_match_at = now(), sample = $3
WHERE name = $1;

-- name: ErrorClassesOf
-- returns: job_id int64, name text, title text, active bool, exit_class text?, cluster_fault bool,
-- returns: action text, n int, factor double
-- The error classes that the ends $1 match, by job; those that decide first. $2: code, $3: wait
-- status, $4: message.
SELECT f.job_id, e.name, e.title, e.mode = 'active' AS active, e.exit_class::text, e.cluster_fault,
    e.action, e.n, e.factor
FROM unnest($1::bigint[], $2::text[], $3::int[], $4::text[])
    AS f (job_id, code, wait_status, message)
JOIN error_classes AS e ON e.mode <> 'off'
    AND matches_error_class(e, f.code, f.wait_status, f.message)
ORDER BY f.job_id, e.priority, e.name;

-- name: ListErrorClasses
-- returns: item text
SELECT to_jsonb(e) AS item FROM error_classes AS e ORDER BY priority, name;

-- name: RemoveErrorClass
DELETE FROM error_classes WHERE name = $1;

-- name: ReplayErrorClass
-- returns: item text
-- What error class $1 would have matched in the last $2 days, whatever its mode: by code and exit
-- class as they were then, with the active class that would have come first, if any.
SELECT jsonb_build_object('code', d.code, 'was', d.exit_class, 'jobs', count(*),
    'tasks', count(DISTINCT (d.campaign_id, d.idx)),
    'campaigns', count(DISTINCT d.campaign_id),
    'clusters', string_agg(DISTINCT k.name, ' '), 'first', f.name,
    'becomes', coalesce(e.exit_class, d.exit_class), 'action', e.action,
    'sample', (array_agg(left(d.message, 200) ORDER BY d.ended_at DESC))[1]) AS item
FROM done AS d
JOIN error_classes AS e ON e.name = $1
    AND matches_error_class(e, d.code, d.wait_status, d.message)
LEFT JOIN clusters AS k ON k.id = d.cluster_id
LEFT JOIN LATERAL (
    SELECT o.name FROM error_classes AS o
    WHERE o.mode = 'active' AND (o.priority, o.name) < (e.priority, e.name)
        AND matches_error_class(o, d.code, d.wait_status, d.message)
    ORDER BY o.priority, o.name LIMIT 1
) AS f ON true
WHERE NOT d.counted AND d.ended_at > now() - $2 * interval '1 day'
GROUP BY d.code, d.exit_class, e.exit_class, e.action, f.name
ORDER BY count(*) DESC, d.code;

-- name: ShowErrorClass
-- returns: item text
SELECT to_jsonb(e) AS item FROM error_classes AS e WHERE name = $1;
