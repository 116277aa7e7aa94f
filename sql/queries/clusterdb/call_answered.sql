-- The API $1 answers again: the breaker closes. `probation` stays until jobs were taken.
UPDATE api_load SET failures = 0, shut_until = NULL, error = NULL WHERE api = $1
