-- Events in a state of $2, by id: those of campaign $1 and, when $3, the global ones of its clusters too;
-- at most $4 after the first $5.
SELECT e.id, e.class, e.code, e.state, e.job_id, e.cluster_id, cl.name AS cluster_name, e.campaign_id,
       e.idx, e.parent, e.count, e.message, e.sample, e.date_open, e.date_update, e.date_closed, e.closed_by
FROM events AS e
LEFT JOIN clusters AS cl ON cl.id = e.cluster_id
WHERE e.state = ANY ($2::text[])
  AND (e.campaign_id = $1
       OR ($3 AND e.campaign_id IS NULL AND e.class = 'cluster'
           AND e.cluster_id IN (SELECT cluster_id FROM campaign_clusters WHERE campaign_id = $1)))
ORDER BY e.id LIMIT $4 OFFSET $5;
