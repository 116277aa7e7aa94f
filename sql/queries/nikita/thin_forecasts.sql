-- As gridstatus, per campaign and cluster.
WITH ranked AS (
    SELECT ctid, at, row_number() OVER (PARTITION BY campaign_id, cluster_id, date_trunc(
        CASE WHEN at < now() - interval '1 day' THEN 'hour' ELSE 'minute' END, at) ORDER BY at) AS k
    FROM forecasts_history WHERE at < now() - interval '1 hour'
)
DELETE FROM forecasts_history WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ranked WHERE k > 1 OR at < now() - interval '1 year' LIMIT $1))
