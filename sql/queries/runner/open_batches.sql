-- Batches of cluster $1 whose outcome is not known, the oldest first. `lost`: an operator (or the
-- campaign's lost_after) has given up what was sent there before.
SELECT b.id, b.state::text, b.tag, b.campaign_id, b.kind::text, b.n, b.slots, b.first_job_id, b.first_idx, b.idxs, b.looks,
    extract(epoch FROM b.created_at) AS created_at, now() >= b.send_by AS send_over,
    extract(epoch FROM now() - greatest(b.send_by, b.doubtful_since, b.first_absence_at)) AS quiet_s,
    coalesce(b.next_look_at <= now(), true) AS due,
    coalesce(k.lost_at > b.created_at, false)
    OR coalesce(b.doubtful_since < now() - c.lost_after_s * interval '1 second', false) AS lost
FROM batches AS b
JOIN clusters AS k ON k.id = b.cluster_id
JOIN campaigns AS c ON c.id = b.campaign_id
WHERE b.cluster_id = $1 AND b.state IN ('intended', 'in_doubt')
ORDER BY b.id
LIMIT 200
