-- Epilogues to come: on every cluster where something of the campaign has run, a prologue or a job.
SELECT count(*)
FROM campaign_clusters AS cc JOIN lanes AS l ON l.campaign_id = cc.campaign_id AND l.cluster_id = cc.cluster_id
WHERE cc.campaign_id = $1 AND cc.epilogue IS NOT NULL AND l.epilogue = 'none' AND l.last_end IS NOT NULL
