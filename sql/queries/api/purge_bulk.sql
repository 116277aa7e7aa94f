-- Removes at most $2 rows of each bulk table of campaign $1; how many it removed.
WITH d1 AS (
    DELETE FROM done WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM done WHERE campaign_id = $1 AND counted LIMIT $2)) RETURNING 1
), d2 AS (
    DELETE FROM done WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM done WHERE campaign_id = $1 AND NOT counted LIMIT $2)) RETURNING 1
), d3 AS (
    DELETE FROM tries WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM tries WHERE campaign_id = $1 LIMIT $2)) RETURNING 1
), d4 AS (
    DELETE FROM tofix WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM tofix WHERE campaign_id = $1 LIMIT $2)) RETURNING 1
), d5 AS (
    DELETE FROM retry WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM retry WHERE campaign_id = $1 LIMIT $2)) RETURNING 1
), d6 AS (
    DELETE FROM batches WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM batches WHERE campaign_id = $1 LIMIT $2)) RETURNING 1
), d7 AS (
    DELETE FROM params_chunk WHERE ctid = ANY (ARRAY(
        SELECT p.ctid FROM params_chunk AS p JOIN segments AS s USING (upload_id)
        WHERE s.campaign_id = $1 LIMIT $2 / 100)) RETURNING 1
)
SELECT (SELECT count(*) FROM d1) + (SELECT count(*) FROM d2) + (SELECT count(*) FROM d3) + (SELECT count(*) FROM d4)
    + (SELECT count(*) FROM d5) + (SELECT count(*) FROM d6) + (SELECT count(*) FROM d7);
