-- name: AnyPolicySet
-- returns: any bool
-- Whether anybody, an operator or a preset, has ever set anything.
SELECT EXISTS (SELECT FROM policy_settings) OR EXISTS (SELECT FROM policy_log) AS any;

-- name: CanaryJobs
-- returns: n int
-- Policy key canary_jobs; no row when it is not set, or when somebody wrote no number from 1 on.
SELECT value::text::int AS n FROM policy_settings
WHERE key = 'canary_jobs' AND value::text ~ '^[1-9][0-9]{0,8}$';

-- name: HighestUserPriority
-- returns: priority int
-- The highest priority that users may give (docs/policies.md); a row that somebody broke by hand
-- counts for nothing.
SELECT coalesce((SELECT value::text::int FROM policy_settings
                 WHERE key = 'user_priority' AND value::text ~ '^[0-9]{1,2}$'), 9) AS priority;

-- name: LockPolicy
-- Changes of the policy are checked as a whole: one at a time.
LOCK TABLE policy_settings IN SHARE ROW EXCLUSIVE MODE;

-- name: PolicyHistory
-- returns: item text
SELECT json_build_object('at', at, 'by', changed_by, 'key', key, 'old', old_value, 'new',
    new_value) AS item
FROM policy_log ORDER BY at DESC, key LIMIT 200;

-- name: PolicySettings
-- returns: key text, value text
-- The settings that differ from their defaults.
SELECT key, value FROM policy_settings;

-- name: PolicySettingsWithAuthor
-- returns: key text, value text, changed_by text?, changed_at text?
SELECT key, value, changed_by, changed_at FROM policy_settings ORDER BY key;

-- name: SetPolicy
-- One setting, kept with who and when; NULL takes it back to its default.
WITH old AS (
    SELECT value FROM policy_settings WHERE key = $1
), log AS (
    INSERT INTO policy_log (changed_by, key, old_value, new_value)
        VALUES ($3, $1, (SELECT value FROM old), $2::jsonb)
), gone AS (
    DELETE FROM policy_settings WHERE key = $1 AND $2::jsonb IS NULL
)
INSERT INTO policy_settings (key, value, changed_by)
SELECT $1, $2::jsonb, $3 WHERE $2::jsonb IS NOT NULL
ON CONFLICT (key) DO UPDATE
SET value = excluded.value, changed_by = excluded.changed_by, changed_at = now();
