SELECT code, priority FROM admission_rules_log
WHERE rule_name = $1 AND version = $2 AND code IS NOT NULL
ORDER BY changed_at DESC LIMIT 1
