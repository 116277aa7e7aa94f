-- Wishes about jobs that are not in flight any more, or never came to be.
WITH k AS (DELETE FROM kills WHERE NOT EXISTS (SELECT FROM live AS l WHERE l.job_id = kills.job_id)
           AND asked_at < now() - interval '1 minute'),
p AS (DELETE FROM preemptions WHERE NOT EXISTS (SELECT FROM live AS l WHERE l.job_id = preemptions.job_id)
      AND at < now() - interval '1 hour'),
s AS (DELETE FROM silent_jobs WHERE NOT EXISTS (SELECT FROM live AS l WHERE l.job_id = silent_jobs.job_id))
DELETE FROM job_requests WHERE NOT EXISTS (SELECT FROM live AS l WHERE l.job_id = job_requests.job_id)
    AND asked_at < now() - interval '1 hour'
