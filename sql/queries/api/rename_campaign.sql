UPDATE campaigns SET name = $2 WHERE id = $1;
