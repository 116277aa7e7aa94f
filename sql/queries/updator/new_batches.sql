-- Batches recorded by transactions from $1 on; some may be known already.
SELECT b.id, b.first_job_id, b.campaign_id, b.cluster_id, b.tag, b.n, cc.cluster_login, cc.walltime_s
FROM batches AS b
LEFT JOIN campaign_clusters AS cc ON cc.campaign_id = b.campaign_id AND cc.cluster_id = b.cluster_id
WHERE b.recorded_xid >= $1::xid8 AND b.state = 'recorded'
