-- What a reader of campaign $1 needs first: whose it is and how its parameters are written.
SELECT grid_user, format, columns, first_task_id, nb_params, jdl
FROM campaigns WHERE id = $1;
