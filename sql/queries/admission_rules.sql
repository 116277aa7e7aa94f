-- name: AddRule
-- returns: item text
INSERT INTO admission_rules (name, title, code, priority, mode, updated_by)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (name) DO NOTHING
RETURNING to_jsonb(admission_rules) AS item;

-- name: ChangeRule
-- returns: item text
-- Changes what is given of rule $1; $6 is the version that its editor has seen: none updated, and
-- somebody else was faster (or the rule is gone).
UPDATE admission_rules
SET title = coalesce($2, title), code = coalesce($3, code), priority = coalesce($4, priority),
    mode = coalesce($5, mode), updated_by = $7
WHERE name = $1 AND ($6::int IS NULL OR version = $6)
RETURNING to_jsonb(admission_rules) AS item;

-- name: GridFactsForRules
-- returns: item text
-- What a rule may know of the grid: its clusters, by name, and the time.
SELECT jsonb_build_object('now', extract(epoch FROM now())::bigint, 'clusters', coalesce(
    (SELECT jsonb_object_agg(c.name, jsonb_strip_nulls(jsonb_build_object(
        'kind', c.kind, 'enabled', c.enabled, 'mode', c.mode,
        'drained', c.drained AND coalesce(c.drained_until > now(), true),
        'down', n.failing_since IS NOT NULL,
        'power', c.power, 'resource_unit', c.resource_unit,
        'max_walltime', c.options -> 'max_walltime',
        'slots', n.max_resources, 'free', n.free_resources)))
     FROM clusters AS c JOIN cluster_now AS n ON n.cluster_id = c.id), '{}')) AS item;

-- name: InstallRule
-- A shipped rule, once in the life of a grid: one that was removed stays away.
INSERT INTO admission_rules (name, title, code, priority, mode, updated_by)
SELECT $1, $2, $3, $4, $5, 'cigri'
WHERE NOT EXISTS (SELECT FROM admission_rules_log WHERE rule_name = $1)
ON CONFLICT (name) DO NOTHING;

-- name: ListRules
-- returns: item text
SELECT to_jsonb(r) - 'code' AS item FROM admission_rules AS r ORDER BY priority, id;

-- name: LoadRules
-- returns: id int64, name text, code text, priority int, mode text
-- The rules in force, as rules::Admit takes them.
SELECT id, name, code, priority, mode FROM admission_rules WHERE mode <> 'off' ORDER BY priority,
    id;

-- name: RemoveRule
DELETE FROM admission_rules WHERE name = $1;

-- name: RuleHistory
-- returns: item text
SELECT to_jsonb(l) AS item FROM admission_rules_log AS l WHERE rule_name = $1 ORDER BY version DESC,
    changed_at DESC;

-- name: RuleVersion
-- returns: code text, priority int
SELECT code, priority FROM admission_rules_log
WHERE rule_name = $1 AND version = $2 AND code IS NOT NULL
ORDER BY changed_at DESC LIMIT 1;

-- name: ShowRule
-- returns: item text
SELECT to_jsonb(r) AS item FROM admission_rules AS r WHERE name = $1;

-- name: UserFactsForRules
-- returns: item text
-- What a rule may know of user $1 besides name and groups.
SELECT
    (SELECT jsonb_build_object(
        'active_campaigns', count(*),
        'active_test_campaigns', count(*) FILTER (WHERE type = 'test'),
        'active_tasks', coalesce(sum(k.ntasks), 0))
     FROM campaigns AS c LEFT JOIN campaign_cursor AS k ON k.campaign_id = c.id
     WHERE c.state IN ('in_treatment', 'paused') AND c.grid_user = $1)
    || (SELECT jsonb_build_object(
        'running_jobs', coalesce(sum(k.n) FILTER (WHERE k.state = 'running'), 0),
        'waiting_jobs', coalesce(sum(k.n) FILTER (WHERE k.state <> 'running'), 0),
        'running_slots', coalesce(sum(k.slots) FILTER (WHERE k.state = 'running'), 0))
     FROM campaigns AS c JOIN jobs_in_flight AS k ON k.campaign_id = c.id
     WHERE c.state IN ('in_treatment', 'paused') AND c.grid_user = $1)
    || (SELECT jsonb_build_object('slot_seconds_30d', coalesce(sum(slot_s), 0))
     FROM usage WHERE grid_user = $1 AND bucket > now() - interval '30 days') AS item;
