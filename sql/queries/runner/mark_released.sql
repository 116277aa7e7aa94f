UPDATE batches SET released = true WHERE id = $1
