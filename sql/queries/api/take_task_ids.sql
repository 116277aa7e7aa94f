-- $1 ids in a row; the first of them. One row for all: keep the transaction short after it.
UPDATE id_blocks SET next = next + $1 WHERE name = 'task' RETURNING next - $1;
