DELETE FROM operators WHERE name = $1 RETURNING name
