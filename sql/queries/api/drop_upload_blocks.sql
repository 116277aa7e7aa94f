DELETE FROM params_chunk WHERE upload_id = $1;
