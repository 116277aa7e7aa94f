-- When clusters $1 may take more: our ends per second there of late, and what is known of their closing.
SELECT c.id, c.hours, extract(epoch FROM c.drained_until - now()) AS drained_for,
       extract(epoch FROM s.try_again_at - now()) AS try_again_in, coalesce(f.rate, 0) AS rate,
       extract(epoch FROM now()) AS now
FROM clusters AS c
LEFT JOIN cluster_status AS s ON s.cluster_id = c.id
LEFT JOIN (
    SELECT cluster_id, sum(rate) AS rate FROM forecasts
    WHERE cluster_id = ANY ($1::int[]) AND at > now() - interval '2 minutes' GROUP BY cluster_id
) AS f ON f.cluster_id = c.id
WHERE c.id = ANY ($1::int[]);
