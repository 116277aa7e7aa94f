-- Sinks that the metascheduler has found (CIG-11): the last successes there are not believed, their tasks go
-- again elsewhere, and the lane is set aside for a while. A campaign that is over stays so.
WITH sink AS (
    DELETE FROM sinks RETURNING campaign_id, cluster_id, n, until
), seen AS (
    SELECT s.campaign_id, s.cluster_id, t.idx
    FROM sink AS s
    JOIN campaigns AS c ON c.id = s.campaign_id AND c.state IN ('in_treatment', 'paused') AND c.finishing_since IS NULL
    JOIN lanes AS l ON l.campaign_id = s.campaign_id AND l.cluster_id = s.cluster_id
    CROSS JOIN LATERAL unnest(l.recent_idx[greatest(cardinality(l.recent_idx) - s.n + 1, 1):]) AS t (idx)
), aside AS (
    UPDATE lanes AS l SET probation_since = now(), probation_until = s.until, recent_s = NULL, recent_idx = NULL
    FROM sink AS s WHERE l.campaign_id = s.campaign_id AND l.cluster_id = s.cluster_id
), back AS (
    UPDATE done AS d SET counted = false, code = 'SINK' FROM seen
    WHERE d.campaign_id = seen.campaign_id AND d.idx = seen.idx AND d.counted AND d.cluster_id = seen.cluster_id
    RETURNING d.campaign_id, d.cluster_id, d.idx, d.kind, d.slots
), again AS (
    INSERT INTO retry (campaign_id, idx, rank, avoid, why)
    SELECT campaign_id, idx, 0, ARRAY[cluster_id], 'SINK' FROM back
    ON CONFLICT (campaign_id, idx) DO NOTHING
)
SELECT campaign_id, cluster_id, idx, kind::text, slots FROM back
