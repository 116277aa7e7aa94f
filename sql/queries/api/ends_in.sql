-- Seconds from now until campaign $1 ends, as an interval, and its ends per second.
SELECT rate, greatest(0, extract(epoch FROM end_low - now())) AS low,
    greatest(0, extract(epoch FROM end_high - now())) AS high
FROM forecasts
WHERE campaign_id = $1 AND cluster_id = 0;
