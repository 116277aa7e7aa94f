-- An event written by a person; the same one again is counted.
INSERT INTO events AS e (class, code, campaign_id, cluster_id, job_id, message)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (code, coalesce(campaign_id, 0), coalesce(cluster_id, 0), fingerprint) WHERE state = 'open'
DO UPDATE SET count = e.count + 1, date_update = now(), message = excluded.message
RETURNING id;
