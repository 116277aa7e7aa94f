-- Events of no campaign in a state of $1, by id; at most $2 after the first $3. The log class is left out
-- unless $4.
SELECT e.id, e.class, e.code, e.state, e.job_id, e.cluster_id, cl.name AS cluster_name, e.campaign_id,
       e.idx, e.parent, e.count, e.message, e.sample, e.date_open, e.date_update, e.date_closed, e.closed_by
FROM events AS e
LEFT JOIN clusters AS cl ON cl.id = e.cluster_id
WHERE e.state = ANY ($1::text[]) AND e.campaign_id IS NULL AND e.class <> 'job' AND ($4 OR e.class <> 'log')
ORDER BY e.id LIMIT $2 OFFSET $3;
