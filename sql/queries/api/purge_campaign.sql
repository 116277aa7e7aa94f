-- What is left of campaign $1 when its bulk has gone. `usage` stays: accounts are kept.
WITH d1 AS (DELETE FROM uploads WHERE id IN (SELECT upload_id FROM segments WHERE campaign_id = $1)),
d2 AS (DELETE FROM segments WHERE campaign_id = $1),
d3 AS (DELETE FROM campaign_cursor WHERE campaign_id = $1),
d4 AS (DELETE FROM counters WHERE campaign_id = $1),
d5 AS (DELETE FROM lanes WHERE campaign_id = $1),
d6 AS (DELETE FROM grants WHERE campaign_id = $1),
d7 AS (DELETE FROM reasons WHERE campaign_id = $1),
d8 AS (DELETE FROM forecasts WHERE campaign_id = $1),
d9 AS (DELETE FROM forecasts_history WHERE campaign_id = $1),
d10 AS (DELETE FROM events WHERE campaign_id = $1)
DELETE FROM campaigns WHERE id = $1;
