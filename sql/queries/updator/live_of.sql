-- The jobs in flight of some batches, by their ranges of job ids.
SELECT l.job_id, l.batch_id, l.element, l.remote_id, l.state::text
FROM unnest($1::bigint[], $2::bigint[]) AS r (first, last)
JOIN live AS l ON l.job_id BETWEEN r.first AND r.last
