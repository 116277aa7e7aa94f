UPDATE campaigns
SET name = $2, project = $3, priority = $4, sla_group = nullif($5, ''), max_tries = $6, max_replicas = $7,
    lost_after_s = $8, jdl = $9::jsonb, notes = notes || $10::jsonb
WHERE id = $1;
