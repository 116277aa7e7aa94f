SELECT to_jsonb(r) - 'code' FROM admission_rules AS r ORDER BY priority, id
