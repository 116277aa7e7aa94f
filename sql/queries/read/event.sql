-- Event $1 and the user whose campaign it concerns.
SELECT e.id, e.class, e.code, e.state, e.job_id, e.cluster_id, cl.name AS cluster_name, e.campaign_id,
       e.idx, e.parent, e.count, e.message, e.sample, e.date_open, e.date_update, e.date_closed,
       e.closed_by, c.grid_user
FROM events AS e
LEFT JOIN clusters AS cl ON cl.id = e.cluster_id
LEFT JOIN campaigns AS c ON c.id = e.campaign_id
WHERE e.id = $1;
