-- What is in flight, by campaign, cluster, kind and state; also of campaigns that wait for nothing.
SELECT k.campaign_id, k.cluster_id, k.kind::text, k.state, sum(k.n) AS n, sum(k.slots) AS slots, sum(k.sum_start) AS sum_start
FROM counters AS k
WHERE k.state IN ('launching', 'submitted', 'remote_waiting', 'running')
    AND k.campaign_id IN (SELECT id FROM campaigns WHERE state IN ('in_treatment', 'paused')
        UNION ALL SELECT campaign_id FROM live UNION ALL
        SELECT campaign_id FROM batches WHERE state IN ('intended', 'in_doubt'))
GROUP BY 1, 2, 3, 4
HAVING sum(k.n) > 0
