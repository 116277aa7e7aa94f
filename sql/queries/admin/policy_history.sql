SELECT json_build_object('at', at, 'by', changed_by, 'key', key, 'old', old_value, 'new', new_value)
FROM policy_log ORDER BY at DESC, key LIMIT 200
