-- What people want becomes what is. A campaign that we stopped (state_reason) stays so until it is freed.
UPDATE campaigns
SET state = wanted, completion_time = CASE WHEN wanted = 'cancelled' THEN now() END,
    state_reason = CASE WHEN wanted = 'in_treatment' THEN NULL ELSE state_reason END
WHERE state IN ('in_treatment', 'paused') AND wanted <> state
    AND NOT (state = 'paused' AND wanted = 'in_treatment' AND state_reason IS NOT NULL)
RETURNING id, state::text
