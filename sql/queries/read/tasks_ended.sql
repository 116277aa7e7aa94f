-- The next $3 tasks after $2 of campaign $1 with a job that has ended.
SELECT DISTINCT idx FROM (
    (SELECT idx FROM done WHERE campaign_id = $1 AND idx > $2 AND counted ORDER BY idx LIMIT $3)
    UNION ALL
    (SELECT idx FROM done WHERE campaign_id = $1 AND idx > $2 AND NOT counted ORDER BY idx LIMIT $3)
) AS ended ORDER BY idx LIMIT $3;
