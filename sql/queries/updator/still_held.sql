-- $2: batches of cluster $1 whose jobs are seen on hold too long after they were recorded.
INSERT INTO still_held (batch_id, cluster_id) SELECT unnest($2::bigint[]), $1 ON CONFLICT DO NOTHING
