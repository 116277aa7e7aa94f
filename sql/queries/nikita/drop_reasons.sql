-- Reasons that have ceased: those that held for less than a minute after an hour, the others after
-- 30 days.
DELETE FROM reasons WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM reasons
    WHERE until < now() - CASE WHEN until - since < interval '1 minute' THEN interval '1 hour' ELSE interval '30 days' END
    LIMIT $1))
