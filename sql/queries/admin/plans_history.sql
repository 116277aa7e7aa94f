-- Stored decisions from $1 to before $2 (epoch s), the oldest first, $3 at most.
SELECT id, extract(epoch FROM at) AS at, seed, snapshot FROM plans
WHERE snapshot IS NOT NULL AND at >= to_timestamp($1) AND at < to_timestamp($2)
ORDER BY at, id LIMIT $3
