-- Batches of clusters $1 whose POST may still start, and the seconds until the last of them may not.
-- A runner looks at send_by right before it sends.
SELECT count(*), coalesce(extract(epoch FROM max(send_by) - clock_timestamp()), 0)
FROM batches
WHERE cluster_id = ANY ($1::int[]) AND state = 'intended' AND send_by > clock_timestamp()
