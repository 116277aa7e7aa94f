-- Whether there is anything to look at: kills on their way, copies, clusters to be emptied, jobs at all,
-- drains that have reached their end.
SELECT EXISTS (SELECT FROM kills) AS kills, EXISTS (SELECT FROM clusters WHERE kill_all) AS emptied,
       EXISTS (SELECT FROM live) AS live, EXISTS (SELECT FROM twins) AS twins,
       EXISTS (SELECT FROM clusters WHERE drained_until <= now()) AS drain_over
