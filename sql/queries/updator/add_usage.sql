-- Slot-seconds of a fold, by minute of the end.
INSERT INTO usage AS u (bucket, campaign_id, cluster_id, grid_user, project, slot_s, ok, not_ok)
SELECT date_trunc('minute', now()), e.campaign_id, e.cluster_id, c.grid_user, c.project, e.slot_s, e.ok, e.not_ok
FROM unnest($1::bigint[], $2::int[], $3::float8[], $4::bigint[], $5::bigint[])
    AS e (campaign_id, cluster_id, slot_s, ok, not_ok)
JOIN campaigns AS c ON c.id = e.campaign_id
ON CONFLICT (bucket, campaign_id, cluster_id) DO UPDATE SET
    slot_s = u.slot_s + excluded.slot_s, ok = u.ok + excluded.ok, not_ok = u.not_ok + excluded.not_ok
