-- What people want becomes what is. A campaign that we stopped (state_reason) stays so until it is freed.
-- One that is cancelled is complete later: when its kills are confirmed and its epilogues have run.
UPDATE campaigns
SET state = wanted, finishing_since = CASE WHEN wanted <> 'cancelled' THEN finishing_since END,
    state_reason = CASE WHEN wanted = 'in_treatment' THEN NULL ELSE state_reason END
WHERE state IN ('in_treatment', 'paused') AND wanted <> state
    AND NOT (state = 'paused' AND wanted = 'in_treatment' AND state_reason IS NOT NULL)
RETURNING id, state::text
