-- What holds now. What ceased less than a minute ago and holds again goes on as one row: a reason that comes and goes
-- with every job would fill the history, and nobody could read it.
WITH present AS (
    SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[], $4::text[]::jsonb[]) AS p (campaign_id, cluster_id, code, numbers)
), again AS (
    UPDATE reasons AS r SET until = NULL, numbers = p.numbers
    FROM present AS p
    WHERE r.campaign_id = p.campaign_id AND r.cluster_id = p.cluster_id AND r.code = p.code
        AND r.until > now() - interval '1 minute'
        AND NOT EXISTS (SELECT FROM reasons AS o WHERE o.campaign_id = p.campaign_id AND o.cluster_id = p.cluster_id
                            AND o.code = p.code AND (o.until IS NULL OR o.until > r.until))
    RETURNING r.campaign_id, r.cluster_id, r.code
)
INSERT INTO reasons AS r (campaign_id, cluster_id, code, numbers)
SELECT p.* FROM present AS p
WHERE NOT EXISTS (SELECT FROM again AS a WHERE a.campaign_id = p.campaign_id AND a.cluster_id = p.cluster_id AND a.code = p.code)
ON CONFLICT (campaign_id, cluster_id, code) WHERE until IS NULL DO UPDATE SET numbers = excluded.numbers
