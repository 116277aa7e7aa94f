-- The API of cluster $1 has taken $2 jobs after its breaker was open: twice as many may come next, and any
-- number once it has taken a thousand at a time.
UPDATE api_load AS a
SET probation = CASE WHEN $2 >= 1000 OR a.probation >= 1000 THEN NULL ELSE greatest(a.probation, 2 * $2) END
FROM clusters AS c
WHERE c.id = $1 AND a.api = c.api AND a.probation IS NOT NULL
