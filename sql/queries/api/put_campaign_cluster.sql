-- What campaign $1 runs on cluster $2; replaced when it is there.
INSERT INTO campaign_clusters AS cc (campaign_id, cluster_id, exec_file, exec_directory, setup, resources,
    slots, properties, walltime_s, project, best_effort, job_types, prologue, epilogue, prologue_walltime_s,
    epilogue_walltime_s, max_jobs, test_mode, options, cluster_login)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::text[], nullif($13, ''), nullif($14, ''), $15, $16, $17,
    $18, $19::jsonb, $20)
ON CONFLICT (campaign_id, cluster_id)
DO UPDATE SET exec_file = excluded.exec_file, exec_directory = excluded.exec_directory, setup = excluded.setup,
    resources = excluded.resources, slots = excluded.slots, properties = excluded.properties,
    walltime_s = excluded.walltime_s, project = excluded.project, best_effort = excluded.best_effort,
    job_types = excluded.job_types, prologue = excluded.prologue, epilogue = excluded.epilogue,
    prologue_walltime_s = excluded.prologue_walltime_s, epilogue_walltime_s = excluded.epilogue_walltime_s,
    max_jobs = excluded.max_jobs, test_mode = excluded.test_mode, options = excluded.options;
