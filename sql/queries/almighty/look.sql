-- Is there anything to do at all, and do we still lead?
SELECT (SELECT epoch FROM grid) AS epoch,
       EXISTS (SELECT FROM campaigns WHERE state IN ('in_treatment', 'paused'))
       OR EXISTS (SELECT FROM campaigns WHERE state = 'cancelled' AND completion_time IS NULL)
       OR EXISTS (SELECT FROM live)
       OR EXISTS (SELECT FROM batches WHERE state IN ('intended', 'in_doubt')) AS work
