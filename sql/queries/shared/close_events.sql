-- Closes the open events of a code for a cluster (and campaign, when $3 is given).
UPDATE events
SET state = 'closed', date_closed = now(), date_update = now(), closed_by = $4
WHERE state = 'open' AND code = $1 AND cluster_id IS NOT DISTINCT FROM $2
    AND ($3::bigint IS NULL OR campaign_id = $3)
RETURNING id
