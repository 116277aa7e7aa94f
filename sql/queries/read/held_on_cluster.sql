-- How many campaigns that are alive are held on cluster $1, or set aside there for a while.
SELECT count(*) FILTER (WHERE l.held_since IS NOT NULL) AS held,
       count(*) FILTER (WHERE l.probation_until > now()) AS probation
FROM campaigns AS c JOIN lanes AS l ON l.campaign_id = c.id AND l.cluster_id = $1
WHERE c.state IN ('in_treatment', 'paused');
