-- One setting, kept with who and when; NULL takes it back to its default.
WITH old AS (
    SELECT value FROM policy_settings WHERE key = $1
), log AS (
    INSERT INTO policy_log (changed_by, key, old_value, new_value) VALUES ($3, $1, (SELECT value FROM old), $2::jsonb)
), gone AS (
    DELETE FROM policy_settings WHERE key = $1 AND $2::jsonb IS NULL
)
INSERT INTO policy_settings (key, value, changed_by) SELECT $1, $2::jsonb, $3 WHERE $2::jsonb IS NOT NULL
ON CONFLICT (key) DO UPDATE SET value = excluded.value, changed_by = excluded.changed_by, changed_at = now()
