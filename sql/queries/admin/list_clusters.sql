-- Every column of the registry but what is secret, with how the cluster does.
SELECT to_jsonb(c) - 'api_password'
    || jsonb_build_object('password_set', c.api_password IS NOT NULL,
        'failing_since', s.failing_since, 'error', s.error, 'answered_at', s.answered_at)
FROM clusters AS c LEFT JOIN cluster_status AS s ON s.cluster_id = c.id
WHERE $1::text IS NULL OR c.name = $1
ORDER BY c.name
