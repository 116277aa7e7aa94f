-- What is left of the tokens of API $1.
UPDATE api_load SET tokens = $2, filled_at = clock_timestamp() WHERE api = $1
