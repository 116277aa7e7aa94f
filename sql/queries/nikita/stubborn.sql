-- Clusters where a job has not ended after $1 calls, and where no such job is left any more though an
-- event says so (n = 0).
SELECT c.id, c.name, count(l.job_id) AS n, max(k.error) AS error
FROM clusters AS c
LEFT JOIN (live AS l JOIN kills AS k ON k.job_id = l.job_id AND k.calls >= $1) ON l.cluster_id = c.id
GROUP BY c.id, c.name
HAVING count(l.job_id) > 0
    OR EXISTS (SELECT FROM events AS e WHERE e.code = 'KILL_UNCONFIRMED' AND e.cluster_id = c.id AND e.state = 'open')
