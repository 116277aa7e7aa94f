SELECT to_jsonb(l) FROM admission_rules_log AS l WHERE rule_name = $1 ORDER BY version DESC, changed_at DESC
