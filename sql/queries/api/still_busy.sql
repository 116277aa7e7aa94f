-- Whether campaign $1 has jobs that may still run.
SELECT EXISTS (SELECT FROM live WHERE campaign_id = $1)
    OR EXISTS (SELECT FROM batches WHERE campaign_id = $1 AND state IN ('intended', 'in_doubt'));
