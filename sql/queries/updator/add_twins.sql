-- Copies of jobs of ours on cluster $1, to be killed; those that are known already stay as they are.
INSERT INTO twins (cluster_id, remote_id, tag, element, cluster_user)
SELECT $1, * FROM unnest($2::text[], $3::text[], $4::int[], $5::text[])
ON CONFLICT DO NOTHING
