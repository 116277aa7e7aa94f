-- Campaigns whose user's token for cluster $1 ends within a day and before the campaign does (`tell`), once;
-- and those of which that was told and is not so any more.
SELECT c.id, coalesce(extract(epoch FROM m.token_expires_at - now()), 0) AS token_s,
    coalesce(extract(epoch FROM f.end_high - now()), 0) AS end_s, x.expires AS tell
FROM campaigns AS c
JOIN campaign_clusters AS cc ON cc.campaign_id = c.id AND cc.cluster_id = $1
JOIN clusters AS k ON k.id = $1 AND k.token_command IS NULL
LEFT JOIN users_mapping AS m ON m.cluster_id = $1 AND m.grid_login = c.grid_user AND m.token IS NOT NULL
LEFT JOIN forecasts AS f ON f.campaign_id = c.id AND f.cluster_id = 0
CROSS JOIN LATERAL (SELECT coalesce(m.token_expires_at BETWEEN now() AND least(f.end_high, now() + interval '1 day'), false)) AS x (expires)
WHERE c.state IN ('in_treatment', 'paused')
    AND x.expires <> EXISTS (SELECT FROM events AS e WHERE e.state = 'open' AND e.code = 'TOKEN_EXPIRES'
        AND e.campaign_id = c.id AND e.cluster_id = $1)
