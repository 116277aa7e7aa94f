INSERT INTO admission_rules (name, title, code, priority, mode, updated_by)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (name) DO NOTHING
RETURNING to_jsonb(admission_rules)
