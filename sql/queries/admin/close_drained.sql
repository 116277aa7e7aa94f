-- Cluster $1 takes jobs again, by the will of $2.
UPDATE events SET state = 'closed', date_closed = now(), date_update = now(), closed_by = $2
WHERE code = 'DRAINED' AND cluster_id = $1 AND campaign_id IS NULL AND state = 'open'
