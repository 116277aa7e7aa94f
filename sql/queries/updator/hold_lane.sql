UPDATE lanes SET held_since = now(), held_event = $3, held_why = $4 WHERE campaign_id = $1 AND cluster_id = $2
