SELECT key, value, changed_by, changed_at FROM policy_settings ORDER BY key
