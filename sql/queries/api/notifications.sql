SELECT id, type, identity, severity FROM user_notifications WHERE grid_user = $1 ORDER BY id;
