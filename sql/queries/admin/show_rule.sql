SELECT to_jsonb(r) FROM admission_rules AS r WHERE name = $1
