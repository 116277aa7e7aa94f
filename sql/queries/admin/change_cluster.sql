-- Sets the columns that $2, a JSON object, names; null empties one. `options` are merged, a null in
-- them removes one. Columns that are not listed here cannot be changed in this way.
UPDATE clusters AS c
SET (api_url, api_group, api_auth_type, api_username, api_password, api_auth_header, token_command, ssh_host,
    resource_unit, power, properties, default_resources, enabled, mode, mode_limit, job_ratio, queue_s,
    max_waiting, keep_waiting, max_running, max_calls_per_min, hours, min_round_s, waiting_timeout_s,
    stress_limit, options)
    = (SELECT r.api_url, r.api_group, r.api_auth_type, r.api_username, r.api_password, r.api_auth_header,
        r.token_command, r.ssh_host, r.resource_unit, r.power, r.properties, r.default_resources, r.enabled,
        r.mode, r.mode_limit, r.job_ratio, r.queue_s, r.max_waiting, r.keep_waiting, r.max_running,
        r.max_calls_per_min, r.hours, r.min_round_s, r.waiting_timeout_s, r.stress_limit,
        jsonb_strip_nulls(c.options || coalesce($2::jsonb -> 'options', '{}'))
       FROM jsonb_populate_record(c, $2::jsonb - 'options') AS r)
WHERE name = $1
RETURNING id
