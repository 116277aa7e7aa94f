INSERT INTO plans (seed, snapshot, took_ms) VALUES ($1, $2, $3) RETURNING id
