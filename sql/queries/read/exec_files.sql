-- What campaign $1 runs on each of its clusters.
SELECT cluster_id, exec_file FROM campaign_clusters WHERE campaign_id = $1;
