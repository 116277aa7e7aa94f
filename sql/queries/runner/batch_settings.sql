-- What the jobs of campaign $1 on cluster $2 are.
SELECT c.grid_user, c.name, c.format, c.columns, cc.exec_file, cc.exec_directory, cc.setup, cc.resources,
    cc.properties, cc.walltime_s, cc.project, cc.best_effort, cc.job_types, cc.prologue, cc.epilogue,
    coalesce(cc.prologue_walltime_s, cc.walltime_s) AS prologue_walltime_s,
    coalesce(cc.epilogue_walltime_s, cc.walltime_s) AS epilogue_walltime_s,
    cc.options, cc.cluster_login, cc.test_mode
FROM campaigns AS c
JOIN campaign_clusters AS cc ON cc.campaign_id = c.id
WHERE c.id = $1 AND cc.cluster_id = $2
