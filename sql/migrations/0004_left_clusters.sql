-- A campaign that leaves a cluster keeps its row there: its jobs are known and killed in the name
-- of cluster_login, and its epilogue cleans up there at its end.
ALTER TABLE campaign_clusters ADD COLUMN left_at timestamptz;  -- nothing but the epilogue is sent
