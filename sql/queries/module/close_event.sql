-- Closes the open event of code $1, campaign $2, cluster $3 and fingerprint $4: its cause has gone.
UPDATE events SET state = 'closed', date_closed = now(), date_update = now(), closed_by = $5
WHERE code = $1 AND coalesce(campaign_id, 0) = coalesce($2::bigint, 0)
  AND coalesce(cluster_id, 0) = coalesce($3::int, 0) AND fingerprint = $4 AND state = 'open'
