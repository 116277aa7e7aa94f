-- Module $1 of process $3 on host $2, in epoch $4, has made $6 passes; the last took $7 ms.
-- $5: when its process started.
INSERT INTO modules AS m (name, host, pid, epoch, started_at, passes, last_pass_at, last_pass_ms)
VALUES ($1, $2, $3, $4, to_timestamp($5), $6, now(), $7)
ON CONFLICT (name) DO UPDATE
SET host = excluded.host, pid = excluded.pid, epoch = excluded.epoch, started_at = excluded.started_at,
    passes = excluded.passes, last_pass_at = excluded.last_pass_at, last_pass_ms = excluded.last_pass_ms
WHERE m.epoch <= excluded.epoch
