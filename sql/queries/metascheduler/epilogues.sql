-- Epilogues that are due: all tasks of the campaign have ended, or it is cancelled and its kills are
-- confirmed; on every cluster where something of it has run.
SELECT c.id, cc.cluster_id
FROM campaigns AS c
JOIN campaign_clusters AS cc ON cc.campaign_id = c.id
JOIN lanes AS l ON l.campaign_id = c.id AND l.cluster_id = cc.cluster_id
WHERE c.completion_time IS NULL AND c.finishing_since IS NOT NULL
    AND (c.state = 'cancelled' OR (c.state = 'in_treatment' AND c.wanted = 'in_treatment'))
    AND cc.epilogue IS NOT NULL AND l.epilogue = 'none' AND l.last_end IS NOT NULL
