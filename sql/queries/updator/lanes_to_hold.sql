-- Lanes where nothing has ever succeeded and the first $2 ends were all failures of the program.
SELECT l.campaign_id, l.cluster_id, l.ended, k.name AS cluster, cc.exec_file, d.message, d.node
FROM lanes AS l
JOIN clusters AS k ON k.id = l.cluster_id
JOIN campaign_clusters AS cc ON cc.campaign_id = l.campaign_id AND cc.cluster_id = l.cluster_id
JOIN campaigns AS c ON c.id = l.campaign_id AND c.type = 'default' AND c.state IN ('in_treatment', 'paused')
LEFT JOIN LATERAL (
    SELECT message, node FROM done
    WHERE campaign_id = l.campaign_id AND NOT counted AND cluster_id = l.cluster_id AND account = 'program'
    ORDER BY ended_at DESC LIMIT 1
) AS d ON true
WHERE l.campaign_id = ANY ($1::bigint[]) AND NOT l.proved AND l.held_since IS NULL
    AND l.ended >= $2 AND l.program_failures = l.ended
    AND EXISTS (SELECT FROM campaign_cursor AS cur WHERE cur.campaign_id = l.campaign_id AND cur.ntasks > $2)
