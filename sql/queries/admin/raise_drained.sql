-- Cluster $1 is drained, in words for people; a second drain says why anew.
INSERT INTO events AS e (class, code, cluster_id, message) VALUES ('cluster', 'DRAINED', $1, $2)
ON CONFLICT (code, coalesce(campaign_id, 0), coalesce(cluster_id, 0), fingerprint) WHERE state = 'open'
DO UPDATE SET count = e.count + 1, date_update = now(), message = excluded.message
