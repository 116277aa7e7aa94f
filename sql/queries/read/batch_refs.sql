-- What a cluster needs to find the jobs of batches $1: tag, first job, and who they run as there.
SELECT b.id, b.tag, b.first_job_id, b.cluster_id, cc.cluster_login, cc.walltime_s
FROM batches AS b
LEFT JOIN campaign_clusters AS cc ON cc.campaign_id = b.campaign_id AND cc.cluster_id = b.cluster_id
WHERE b.id = ANY ($1::bigint[]);
