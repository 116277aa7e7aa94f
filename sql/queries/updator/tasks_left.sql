-- Exactly, whether tasks of the campaign are in flight or to go again. REQUIRES: its cursor is locked.
SELECT EXISTS (SELECT FROM retry WHERE campaign_id = $1) AS again,
    EXISTS (SELECT FROM live WHERE campaign_id = $1 AND idx >= 0)
    OR EXISTS (SELECT FROM batches WHERE campaign_id = $1 AND state IN ('intended', 'in_doubt')
        AND kind IN ('task', 'replica', 'test')) AS in_flight
