-- One more call to API $1 that nobody answered.
UPDATE api_load SET failures = failures + 1, error = $2 WHERE api = $1 RETURNING failures
