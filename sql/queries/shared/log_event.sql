-- A closed event: something to be known, not answered.
INSERT INTO events (class, code, state, campaign_id, cluster_id, job_id, message, date_closed, closed_by)
VALUES ($1, $2, 'closed', $3, $4, $5, $6, now(), 'system')
