-- REQUIRES: the cursor of $1 is locked, or the updator might be ending it right now.
UPDATE campaigns
SET state = CASE WHEN state = 'terminated' THEN wanted ELSE state END,
    completion_time = NULL, finishing_since = NULL,
    state_reason = CASE WHEN state = 'terminated' THEN NULL ELSE state_reason END
WHERE id = $1;
