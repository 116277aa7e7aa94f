-- Opens an event, or counts one more of the same that is open: a row with first, last and a sample.
INSERT INTO events AS e (class, code, campaign_id, cluster_id, job_id, idx, fingerprint, message, sample, count)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, $10)
ON CONFLICT (code, coalesce(campaign_id, 0), coalesce(cluster_id, 0), fingerprint) WHERE state = 'open'
DO UPDATE SET count = e.count + excluded.count, date_update = now(), message = excluded.message,
              job_id = coalesce(excluded.job_id, e.job_id), idx = coalesce(excluded.idx, e.idx)
RETURNING e.id
