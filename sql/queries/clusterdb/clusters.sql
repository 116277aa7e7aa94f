SELECT id, name, kind, api_url, api_auth_type, coalesce(api_username, '') AS api_username,
    coalesce(api_password, '') AS api_password, coalesce(api_auth_header, '') AS api_auth_header,
    coalesce(token_command, '') AS token_command, resource_unit, properties, options, enabled, api, stress_limit, max_calls_per_min,
    coalesce(min_round_s, CASE kind WHEN 'local' THEN 0 ELSE 5 END) AS min_round_s
FROM clusters ORDER BY id
