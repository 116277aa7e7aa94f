-- Changes what is given of rule $1; $6 is the version that its editor has seen: none updated, and
-- somebody else was faster (or the rule is gone).
UPDATE admission_rules
SET title = coalesce($2, title), code = coalesce($3, code), priority = coalesce($4, priority),
    mode = coalesce($5, mode), updated_by = $7
WHERE name = $1 AND ($6::int IS NULL OR version = $6)
RETURNING to_jsonb(admission_rules)
