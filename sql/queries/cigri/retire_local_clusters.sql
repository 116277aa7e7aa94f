-- Embedded clusters below $1 that are no longer among $2 get no more jobs; their history stays.
UPDATE clusters SET enabled = false
WHERE kind = 'local' AND starts_with(api_url, $1) AND name <> ALL ($2::text[]) AND enabled
