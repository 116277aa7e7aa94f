-- The grid in one row, for `cigri status`.
SELECT g.grid_id, g.epoch, g.leader, g.embedded, extract(epoch FROM now() - g.leading_since) AS leading_s,
       pg_database_size(current_database()) AS bytes, current_setting('server_version') AS server,
       (SELECT count(*) FROM campaigns WHERE state IN ('in_treatment', 'paused')) AS campaigns,
       (SELECT count(*) FROM live) AS live,
       extract(epoch FROM clock_timestamp()) AS clock
FROM grid AS g
