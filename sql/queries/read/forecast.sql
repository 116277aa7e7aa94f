-- What the predictor says of campaign $1 as a whole.
SELECT rate, average_s, stddev_s, p50_s, p90_s, p99_s, extract(epoch FROM end_low) AS end_low,
       extract(epoch FROM end_high) AS end_high, extract(epoch FROM at) AS at
FROM forecasts WHERE campaign_id = $1 AND cluster_id = 0;
