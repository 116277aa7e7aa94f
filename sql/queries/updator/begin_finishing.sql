UPDATE campaigns SET finishing_since = now() WHERE id = $1 AND finishing_since IS NULL
