-- name: AbandonedNotifications
-- What was being sent when a notifier died: perhaps it has arrived. It is not sent a second time.
UPDATE notifications SET state = 'unknown', error = 'the notifier died while it was being sent'
WHERE state = 'sending';

-- name: CampaignForSubscription
-- returns: grid_user text
SELECT grid_user FROM campaigns WHERE id = $1;

-- name: ClaimNotifications
-- Before the message with $1 leaves.
UPDATE notifications SET state = 'sending', attempts = attempts + 1, message_id = $2
WHERE id = ANY ($1::bigint[]) AND state = 'waiting';

-- name: DropEndedSubscriptions
-- Those to one campaign, a day after its end: of older events nobody is notified. Later while a
-- message of theirs waits, or counts in the rate of its address.
DELETE FROM user_notifications WHERE id = ANY (ARRAY(
    SELECT n.id FROM user_notifications AS n JOIN campaigns AS c ON c.id = n.campaign_id
    WHERE c.state IN ('terminated', 'cancelled') AND c.completion_time < now() - interval '1 day'
        AND n.created_at < now() - interval '1 day'
        AND NOT EXISTS (SELECT FROM notifications AS q WHERE q.subscription_id = n.id
            AND (q.state IN ('waiting', 'sending') OR q.sent_at > now() - interval '1 hour'))
    LIMIT $1));

-- name: DropOldNotifications
-- Rows older than 90 days; those of events that may still be found are kept, else they are new.
DELETE FROM notifications WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM notifications WHERE created_at < now() - interval '90 days' LIMIT $1));

-- name: FailedNotifications
-- A message failed with $3: each $1 of it is tried again after $2 seconds (NULL: never).
UPDATE notifications AS q SET state = CASE WHEN r.retry_s IS NULL THEN 'failed' ELSE 'waiting' END,
    error = $3, not_before = coalesce(now() + r.retry_s * interval '1 second', q.not_before)
FROM unnest($1::bigint[], $2::float8[]) AS r (id, retry_s)
WHERE q.id = r.id AND q.state = 'sending';

-- name: ListNotifications
-- returns: id int, grid_user text, type text, identity text, severity text, campaign_id int64?,
-- returns: quiet_hours text, digest_minutes int?
-- Those of a campaign until it is over.
SELECT n.id, n.grid_user, n.type, n.identity, n.severity, n.campaign_id, n.quiet_hours,
    n.digest_minutes
FROM user_notifications AS n LEFT JOIN campaigns AS c ON c.id = n.campaign_id
WHERE n.grid_user = ANY ($1::text[])
    AND (n.campaign_id IS NULL OR c.state NOT IN ('terminated', 'cancelled'))
ORDER BY n.id;

-- name: NewNotifications
-- returns: subscription_id int, event_id int64, campaign_id int64?, code text, message text
-- Events after $1 of the campaigns of subscribers, and those of clusters and the grid for its
-- administrators, that came after the subscription and are not yet among its notifications; those
-- with a code of $3 only for who wants more than the worst. A subscription to one campaign gets all
-- of it, but for what goes to the same address by a subscription to all. At most $2.
SELECT n.id AS subscription_id, e.id AS event_id, e.campaign_id, e.code,
    left(e.message, 1000) AS message
FROM events AS e
LEFT JOIN campaigns AS c ON c.id = e.campaign_id
JOIN user_notifications AS n
    ON n.grid_user = CASE WHEN e.campaign_id IS NULL THEN '%%admin%%' ELSE c.grid_user END
    AND (n.campaign_id IS NULL OR n.campaign_id = e.campaign_id)
WHERE e.id > $1 AND e.class <> 'log'
    AND (e.date_open >= n.created_at OR n.campaign_id IS NOT NULL)
    AND (n.severity <> 'high' OR e.code <> ALL ($3::text[]))
    AND NOT EXISTS (SELECT FROM user_notifications AS g
        WHERE n.campaign_id IS NOT NULL AND g.campaign_id IS NULL AND g.grid_user = n.grid_user
            AND g.type = n.type AND g.identity = n.identity AND e.date_open >= g.created_at
            AND (g.severity <> 'high' OR e.code <> ALL ($3::text[])))
    AND NOT EXISTS (SELECT FROM notifications AS q
        WHERE q.subscription_id = n.id AND q.event_id = e.id)
ORDER BY e.id LIMIT $2;

-- name: NotificationsFrom
-- returns: event_id int64
-- Events up to this one are older than $1 seconds.
SELECT coalesce(max(id), 0)::bigint AS event_id FROM events
WHERE date_open < now() - $1 * interval '1 second';

-- name: QueueNotifications
-- Each once, whoever finds it.
INSERT INTO notifications (subscription_id, event_id, campaign_id, severity, code, message)
SELECT * FROM unnest($1::int[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[])
ON CONFLICT (subscription_id, event_id) DO NOTHING;

-- name: SentNotifications
UPDATE notifications SET state = 'sent', error = NULL, sent_at = now()
WHERE id = ANY ($1::bigint[]) AND state = 'sending';

-- name: Subscribe
-- With $5, to that campaign alone; else to all. Nothing when the user has $8 others already.
INSERT INTO user_notifications
    (grid_user, type, identity, severity, campaign_id, quiet_hours, digest_minutes)
SELECT $1, $2, $3, $4, $5::bigint, $6, $7::int
WHERE (SELECT count(*) FROM user_notifications WHERE grid_user = $1
    AND (type, identity, coalesce(campaign_id, 0)) <> ($2, $3, coalesce($5, 0))) < $8
ON CONFLICT (grid_user, identity, type, coalesce(campaign_id, 0)) DO UPDATE
SET severity = excluded.severity, quiet_hours = excluded.quiet_hours,
    digest_minutes = excluded.digest_minutes;

-- name: Unsubscribe
-- Of campaign $4 alone when it is given.
DELETE FROM user_notifications
WHERE grid_user = ANY ($1::text[]) AND type = $2 AND ($3 = '' OR identity = $3)
    AND ($4::bigint IS NULL OR campaign_id = $4);

-- name: WaitingNotifications
-- returns: id int64, subscription_id int, grid_user text, type text, identity text,
-- returns: campaign_id int64?, campaign text?, severity text, code text, message text,
-- returns: age_s double, attempts int, sent_lately int64, quiet_hours text, digest_minutes int?
-- What is to be sent, by subscription and campaign, and how many messages went to its address in
-- the last hour. At most $1 of each address, those never tried first; what waits for the morning or
-- for the end of a digest is counted apart: it holds nothing else up.
WITH waiting AS MATERIALIZED (
    SELECT q.*, n.grid_user, n.type, n.identity, n.quiet_hours, n.digest_minutes,
        row_number() OVER (PARTITION BY n.grid_user, n.type, n.identity, n.quiet_hours,
            n.digest_minutes ORDER BY q.attempts > 0, q.id) AS nth
    FROM notifications AS q JOIN user_notifications AS n ON n.id = q.subscription_id
    WHERE q.state = 'waiting' AND q.not_before <= now()),
sent AS MATERIALIZED (
    SELECT a.grid_user, a.type, a.identity, count(DISTINCT s.message_id) AS n
    FROM (SELECT DISTINCT grid_user, type, identity FROM waiting) AS a
    JOIN user_notifications AS o USING (grid_user, type, identity)
    -- By its index, also while statistics are old.
    CROSS JOIN LATERAL (SELECT m.message_id FROM notifications AS m
        WHERE m.subscription_id = o.id AND m.sent_at > now() - interval '1 hour' OFFSET 0) AS s
    GROUP BY a.grid_user, a.type, a.identity)
SELECT w.id, w.subscription_id, w.grid_user, w.type, w.identity, w.campaign_id, c.name AS campaign,
    w.severity, w.code, w.message, extract(epoch FROM now() - w.created_at) AS age_s, w.attempts,
    coalesce(sent.n, 0) AS sent_lately, w.quiet_hours, w.digest_minutes
FROM waiting AS w
LEFT JOIN sent USING (grid_user, type, identity)
LEFT JOIN campaigns AS c ON c.id = w.campaign_id
WHERE w.nth <= $1
ORDER BY w.subscription_id, w.campaign_id, w.id;
