UPDATE campaigns SET completion_time = now() WHERE id = $1 AND state = 'cancelled'
