-- Jobs that have given no sign of their start for longer than their cluster's option start_limit_s, else $1 s. Only
-- where the last sweep is fresh.
INSERT INTO kills (job_id, reason, detail)
SELECT l.job_id, 'never_started',
    'no sign of its start for ' || extract(epoch FROM now() - s.since)::int || ' s'
FROM silent_jobs AS s
JOIN live AS l USING (job_id)
JOIN clusters AS c ON c.id = l.cluster_id
JOIN cluster_status AS st ON st.cluster_id = c.id AND st.swept_at > now() - interval '2 minutes'
WHERE s.since < now() - coalesce((c.options->>'start_limit_s')::float8, $1::float8) * interval '1 second'
    AND NOT EXISTS (SELECT FROM kills AS k WHERE k.job_id = l.job_id)
ON CONFLICT DO NOTHING
