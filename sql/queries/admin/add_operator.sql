INSERT INTO operators (name, added_by) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING
