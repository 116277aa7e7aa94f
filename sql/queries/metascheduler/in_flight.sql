-- What is in flight, by campaign, cluster, kind and state, of whatever campaign. Those that have anything in
-- flight are found by steps through the index: the cost goes with them, not with their jobs.
WITH RECURSIVE flying (id) AS (
    (SELECT min(campaign_id) FROM live)
    UNION ALL
    SELECT (SELECT min(campaign_id) FROM live WHERE campaign_id > flying.id) FROM flying WHERE flying.id IS NOT NULL
), busy AS (
    SELECT id FROM flying WHERE id IS NOT NULL
    UNION
    SELECT campaign_id FROM batches WHERE state IN ('intended', 'in_doubt')
)
SELECT k.campaign_id, k.cluster_id, k.kind::text, k.state, sum(k.n) AS n, sum(k.slots) AS slots, sum(k.sum_start) AS sum_start
FROM busy JOIN counters AS k ON k.campaign_id = busy.id
WHERE k.state IN ('launching', 'submitted', 'remote_waiting', 'running')
GROUP BY 1, 2, 3, 4
HAVING sum(k.n) > 0
