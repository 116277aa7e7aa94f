-- What each module says of itself.
SELECT name, host, pid, epoch, passes, extract(epoch FROM now() - last_pass_at) AS idle_s, last_pass_ms
FROM modules ORDER BY name
