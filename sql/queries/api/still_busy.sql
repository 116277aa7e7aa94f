-- Whether campaign $1 has jobs that may still run, or epilogues to come.
SELECT EXISTS (SELECT FROM live WHERE campaign_id = $1)
    OR EXISTS (SELECT FROM batches WHERE campaign_id = $1 AND state IN ('intended', 'in_doubt'))
    OR EXISTS (SELECT FROM campaigns WHERE id = $1 AND completion_time IS NULL);
