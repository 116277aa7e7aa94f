-- A prologue that failed blocks its lane until its event is answered.
UPDATE lanes AS l SET held_since = now(), held_event = e.id, held_why = 'its prologue failed: ' || e.message
FROM events AS e
WHERE l.campaign_id = ANY ($1::bigint[]) AND l.prologue = 'failed' AND l.held_since IS NULL
    AND e.campaign_id = l.campaign_id AND e.cluster_id = l.cluster_id AND e.code = 'PROLOGUE_FAILED' AND e.state = 'open'
