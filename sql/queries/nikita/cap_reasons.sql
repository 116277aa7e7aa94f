-- Of each campaign the 2,000 reasons that ceased last: a campaign on many clusters for months must not fill the disk.
DELETE FROM reasons WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM (
        SELECT ctid, row_number() OVER (PARTITION BY campaign_id ORDER BY until DESC) AS k
        FROM reasons WHERE until IS NOT NULL AND campaign_id IN (
            SELECT campaign_id FROM reasons WHERE until IS NOT NULL GROUP BY campaign_id HAVING count(*) > 2000)
    ) AS ranked
    WHERE k > 2000 LIMIT $1))
