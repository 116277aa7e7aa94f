DELETE FROM uploads WHERE id = $1;
