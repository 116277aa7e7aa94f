-- Epilogues to come: on every cluster where the prologue or a job of the campaign has run.
SELECT count(*)
FROM campaign_clusters AS cc JOIN lanes AS l ON l.campaign_id = cc.campaign_id AND l.cluster_id = cc.cluster_id
WHERE cc.campaign_id = $1 AND cc.epilogue IS NOT NULL AND l.epilogue = 'none'
    AND (l.prologue = 'done' OR l.n_ok > 0 OR l.ended > 0 OR l.last_end IS NOT NULL)
