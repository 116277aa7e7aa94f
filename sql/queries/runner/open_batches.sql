-- Batches of cluster $1 whose outcome is not known, the oldest first.
SELECT id, state::text, tag, campaign_id, kind::text, n, slots, first_job_id, first_idx, idxs, looks,
    extract(epoch FROM created_at) AS created_at, now() >= send_by AS send_over,
    extract(epoch FROM now() - greatest(send_by, doubtful_since, first_absence_at)) AS quiet_s,
    coalesce(next_look_at <= now(), true) AS due,
    extract(epoch FROM now() - doubtful_since) AS doubtful_s
FROM batches
WHERE cluster_id = $1 AND state IN ('intended', 'in_doubt')
ORDER BY id
LIMIT 200
