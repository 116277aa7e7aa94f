-- The cluster has the jobs: their live rows, complete. $2, $3, $4: remote id, element, attempt.
WITH b AS (
    UPDATE batches
    SET state = 'recorded', recorded_at = now(), recorded_xid = pg_current_xact_id(), remote_id = $5,
        doubtful_since = NULL, released = NOT $6
    WHERE id = $1 AND state IN ('intended', 'in_doubt')
    RETURNING id, first_job_id, campaign_id, cluster_id, kind, first_idx, idxs, slots
)
INSERT INTO live (job_id, campaign_id, idx, kind, batch_id, element, cluster_id, remote_id, attempt, slots)
SELECT b.first_job_id + e.element, b.campaign_id, coalesce(b.idxs[e.element + 1], b.first_idx + e.element, -1),
    b.kind, b.id, e.element, b.cluster_id, e.remote_id, e.attempt, b.slots
FROM b, unnest($2::text[], $3::int[], $4::int[]) AS e (remote_id, element, attempt)
