INSERT INTO preemptions (job_id, for_campaign, why)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[])
ON CONFLICT DO NOTHING
