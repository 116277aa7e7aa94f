-- Slot-seconds since $1 (epoch s) and before $2, in steps of $3 seconds.
SELECT campaign_id, grid_user, project, floor(extract(epoch FROM bucket) / $3) * $3 AS start, sum(slot_s) AS slot_s
FROM usage
WHERE bucket >= to_timestamp($1) AND bucket < to_timestamp($2)
GROUP BY 1, 2, 3, 4
