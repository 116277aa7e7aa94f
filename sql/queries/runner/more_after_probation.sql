-- The API of cluster $1 has taken a batch after its breaker was open: the next claim may be twice as large,
-- and after ten of them as large as it likes.
UPDATE api_load AS a SET probation = CASE WHEN a.probation >= 512 THEN NULL ELSE 2 * a.probation END
FROM clusters AS c
WHERE c.id = $1 AND a.api = c.api AND a.probation IS NOT NULL
