SELECT max_array, max_bytes FROM cluster_limits WHERE cluster_id = $1
