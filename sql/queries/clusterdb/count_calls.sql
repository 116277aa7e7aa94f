-- $3 calls to cluster $1 made by module $2, in the slice of 10 s that is now.
INSERT INTO api_calls AS a (cluster_id, module, slice, n)
VALUES ($1, $2, to_timestamp(floor(extract(epoch FROM now()) / 10) * 10), $3)
ON CONFLICT (cluster_id, module, slice) DO UPDATE SET n = a.n + excluded.n
