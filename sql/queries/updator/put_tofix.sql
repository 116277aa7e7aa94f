-- Tasks whose tries are spent.
INSERT INTO tofix (campaign_id, idx, job_id, event_id)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
ON CONFLICT (campaign_id, idx) DO UPDATE SET job_id = excluded.job_id, event_id = excluded.event_id
