-- What a rule may know of the grid: its clusters, by name, and the time.
SELECT jsonb_build_object('now', extract(epoch FROM now())::bigint, 'clusters', coalesce(
    (SELECT jsonb_object_agg(c.name, jsonb_strip_nulls(jsonb_build_object(
        'kind', c.kind, 'enabled', c.enabled, 'mode', c.mode,
        'drained', c.drained AND coalesce(c.drained_until > now(), true),
        'down', s.failing_since IS NOT NULL,
        'power', c.power, 'resource_unit', c.resource_unit,
        'max_walltime', c.options -> 'max_walltime',
        'slots', g.max_resources, 'free', g.free_resources)))
     FROM clusters AS c
     LEFT JOIN cluster_status AS s ON s.cluster_id = c.id
     LEFT JOIN LATERAL (
         SELECT max_resources, free_resources FROM gridstatus
         WHERE cluster_id = c.id ORDER BY at DESC LIMIT 1) AS g ON true), '{}'))
