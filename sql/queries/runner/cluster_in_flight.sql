-- Jobs of ours in flight on a cluster, all campaigns.
SELECT coalesce(sum(k.n), 0), coalesce(sum(k.slots), 0)
FROM campaigns AS c
JOIN counters AS k ON k.campaign_id = c.id AND k.cluster_id = $1
    AND k.state IN ('launching', 'submitted', 'remote_waiting', 'running')
WHERE c.state IN ('in_treatment', 'paused')
