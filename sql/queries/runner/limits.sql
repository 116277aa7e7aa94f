SELECT max_array FROM cluster_limits WHERE cluster_id = $1
