-- One almighty leads a schema: the lock lives as long as this session. Never waits: a blocked
-- statement would keep its snapshot and hold back vacuum.
SELECT pg_try_advisory_lock(hashtext('cigri almighty'), hashtext(current_schema()))
