DELETE FROM user_notifications WHERE grid_user = $1 AND type = $2 AND ($3 = '' OR identity = $3);
