-- name: ListNotifications
-- returns: id int, type text, identity text, severity text
SELECT id, type, identity, severity FROM user_notifications WHERE grid_user = $1 ORDER BY id;

-- name: Subscribe
INSERT INTO user_notifications (grid_user, type, identity, severity)
VALUES ($1, $2, $3, $4)
ON CONFLICT (grid_user, identity, type) DO UPDATE SET severity = excluded.severity;

-- name: Unsubscribe
DELETE FROM user_notifications WHERE grid_user = $1 AND type = $2 AND ($3 = '' OR identity = $3);
