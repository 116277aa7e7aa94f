INSERT INTO campaigns (grid_user, name, type, project, priority, sla_group, nb_params, first_task_id, format,
    columns, jdl, max_tries, max_replicas, lost_after_s, notes, upload_id)
VALUES ($1, $2, $3, $4, $5, nullif($6, ''), $7, $8, $9, $10::text[], $11::jsonb, $12, $13, $14, $15::jsonb, $16)
RETURNING id;
