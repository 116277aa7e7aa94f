INSERT INTO user_notifications (grid_user, type, identity, severity)
VALUES ($1, $2, $3, $4)
ON CONFLICT (grid_user, identity, type) DO UPDATE SET severity = excluded.severity;
