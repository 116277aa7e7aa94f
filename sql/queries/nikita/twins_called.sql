-- The calls for copies (cluster $1, remote id $2) are about to be made.
UPDATE twins AS t SET called_at = now(), calls = calls + 1
FROM unnest($1::bigint[], $2::text[]) AS c (cluster_id, remote_id)
WHERE t.cluster_id = c.cluster_id AND t.remote_id = c.remote_id
