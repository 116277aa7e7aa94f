-- What a cluster said when it would not kill.
UPDATE kills AS k SET error = e.error
FROM unnest($1::bigint[], $2::text[]) AS e (job_id, error) WHERE k.job_id = e.job_id
