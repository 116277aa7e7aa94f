SELECT to_jsonb(o) FROM operators AS o ORDER BY name
