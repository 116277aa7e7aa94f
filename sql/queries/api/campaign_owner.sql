SELECT grid_user FROM campaigns WHERE id = $1;
