-- Tasks to go again that keep away from a cluster for now.
SELECT r.campaign_id, a.cluster_id, count(*) AS n
FROM retry AS r, unnest(r.avoid) AS a (cluster_id)
WHERE r.campaign_id = ANY ($1::bigint[]) AND r.since > now() - interval '2 minutes'
GROUP BY 1, 2
