-- Transactions older than this have ended: what they recorded is visible.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text
