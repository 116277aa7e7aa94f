-- Counts of calls that nobody shows any more.
DELETE FROM api_calls WHERE slice < now() - interval '10 minutes'
