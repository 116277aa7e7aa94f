-- The oldest campaign that ended more than $1 days ago and has nothing in flight.
SELECT id FROM campaigns AS c
WHERE state IN ('terminated', 'cancelled') AND completion_time < now() - $1 * interval '1 day'
    AND NOT EXISTS (SELECT FROM live AS l WHERE l.campaign_id = c.id)
    AND NOT EXISTS (SELECT FROM batches AS b WHERE b.campaign_id = c.id AND b.state IN ('intended', 'in_doubt'))
ORDER BY id LIMIT 1
