-- Slots of ours in use, by cluster, campaign and start (in steps of 10 s): when they will be given back (FAIR-08).
SELECT cluster_id, campaign_id, floor(extract(epoch FROM started_at) / 10) * 10 AS start, sum(slots) AS slots
FROM live WHERE state = 'running' AND started_at IS NOT NULL
GROUP BY 1, 2, 3
