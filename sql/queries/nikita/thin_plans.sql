-- As gridstatus. The last plan is kept whatever its age.
WITH ranked AS (
    SELECT ctid, id, at, row_number() OVER (PARTITION BY date_trunc(
        CASE WHEN at < now() - interval '1 day' THEN 'hour' ELSE 'minute' END, at) ORDER BY at) AS k
    FROM plans WHERE at < now() - interval '1 hour'
)
DELETE FROM plans WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ranked
    WHERE (k > 1 OR at < now() - interval '1 year') AND id < (SELECT max(id) FROM plans) LIMIT $1))
