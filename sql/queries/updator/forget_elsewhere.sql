-- A task that has been counted goes nowhere again, wherever an earlier copy of it had been put.
WITH won AS (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS w (campaign_id, idx)),
a AS (DELETE FROM retry AS r USING won WHERE r.campaign_id = won.campaign_id AND r.idx = won.idx)
DELETE FROM tofix AS t USING won WHERE t.campaign_id = won.campaign_id AND t.idx = won.idx
