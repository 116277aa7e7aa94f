-- Tasks that failed on a cluster where the campaign is held now: not charged, and to go again.
WITH failed AS (
    SELECT DISTINCT idx FROM done
    WHERE campaign_id = $1 AND cluster_id = $2 AND NOT counted AND account = 'program' AND idx >= 0
), refunded AS (
    UPDATE tries AS t SET program = 0 FROM failed AS f WHERE t.campaign_id = $1 AND t.idx = f.idx
), back AS (
    DELETE FROM tofix AS t USING failed AS f WHERE t.campaign_id = $1 AND t.idx = f.idx
    RETURNING t.idx, t.event_id
), closed AS (
    UPDATE events AS e SET state = 'closed', date_closed = now(), closed_by = 'updator'
    FROM (SELECT DISTINCT event_id FROM back) AS b WHERE e.id = b.event_id
        AND NOT EXISTS (SELECT FROM tofix AS o WHERE o.event_id = e.id AND o.idx NOT IN (SELECT idx FROM back))
)
INSERT INTO retry (campaign_id, idx, rank, avoid, why)
SELECT $1, idx, 0, ARRAY[$2::int], 'HELD_FIRST_TEN' FROM back
ON CONFLICT DO NOTHING
