-- A shipped rule, once in the life of a grid: one that was removed stays away.
INSERT INTO admission_rules (name, title, code, priority, mode, updated_by)
SELECT $1, $2, $3, $4, $5, 'cigri'
WHERE NOT EXISTS (SELECT FROM admission_rules_log WHERE rule_name = $1)
ON CONFLICT (name) DO NOTHING
