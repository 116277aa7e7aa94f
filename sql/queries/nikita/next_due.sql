-- Seconds until the next call is due; NULL when there is none.
SELECT extract(epoch FROM min(coalesce(called_at + least($1::float8 * 2 ^ (least(calls, 20) - 1), $2) * interval '1 second',
                                       now())) - now()) AS seconds
FROM kills
