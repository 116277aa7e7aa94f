-- Nothing is asked of API $1 for $2 seconds. When it answers again, jobs are sent one at first.
UPDATE api_load SET shut_until = clock_timestamp() + $2 * interval '1 second', probation = 1 WHERE api = $1
