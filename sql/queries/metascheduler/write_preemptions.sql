INSERT INTO preemptions (job_id, for_campaign, cluster_id, slots, lost_s, why)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::int[], $5::float8[], $6::text[])
ON CONFLICT DO NOTHING
