UPDATE campaigns SET state = 'terminated', completion_time = now(), state_reason = NULL
WHERE id = $1 AND state = 'in_treatment'
