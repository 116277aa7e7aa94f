-- How many rows read/failures.sql would give without its limit.
SELECT count(*) FROM (
    SELECT FROM events
    WHERE campaign_id = $1 AND state = 'open' AND class IN ('job', 'campaign', 'cluster')
    GROUP BY class, code, fingerprint, CASE WHEN class <> 'job' THEN id END
) AS same;
