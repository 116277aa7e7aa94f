-- The last decision whose snapshot was kept. `plans` holds one in 10 seconds, so few rows are passed over.
SELECT id, seed, extract(epoch FROM at) AS at, octet_length(snapshot) AS bytes
FROM plans WHERE snapshot IS NOT NULL ORDER BY id DESC LIMIT 1;
