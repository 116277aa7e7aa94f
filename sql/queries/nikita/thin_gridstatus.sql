-- Keeps all snapshots of the last hour, one a minute of the last day, one an hour of the last year.
WITH ranked AS (
    SELECT ctid, at, row_number() OVER (PARTITION BY cluster_id, date_trunc(
        CASE WHEN at < now() - interval '1 day' THEN 'hour' ELSE 'minute' END, at) ORDER BY at) AS k
    FROM gridstatus WHERE at < now() - interval '1 hour'
)
DELETE FROM gridstatus WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ranked WHERE k > 1 OR at < now() - interval '1 year' LIMIT $1))
