-- Writes the intents, one row per POST to come, and takes the ids of their $1 jobs.
WITH ids AS (
    UPDATE id_blocks SET next = next + $1 WHERE name = 'job' RETURNING next - $1 AS first
)
INSERT INTO batches (first_job_id, kind, campaign_id, cluster_id, n, first_idx, idxs, slots, tag, epoch,
    send_by, released)
SELECT ids.first + b.job_offset, b.kind::batch_kind, b.campaign_id, $2, b.n, b.first_idx, b.idxs::bigint[],
    b.slots, b.tag, $3, now() + $4 * interval '1 second', $5
FROM ids, unnest($6::bigint[], $7::text[], $8::bigint[], $9::int[], $10::bigint[], $11::text[], $12::int[],
    $13::text[]) AS b (job_offset, kind, campaign_id, n, first_idx, idxs, slots, tag)
RETURNING id, first_job_id, tag
