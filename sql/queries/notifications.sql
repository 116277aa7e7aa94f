-- name: AbandonedNotifications
-- What was being sent when a notifier died: perhaps it has arrived. It is not sent a second time.
UPDATE notifications SET state = 'unknown', error = 'the notifier died while it was being sent'
WHERE state = 'sending';

-- name: ClaimNotifications
-- Before the message with $1 leaves.
UPDATE notifications SET state = 'sending', attempts = attempts + 1, message_id = $2
WHERE id = ANY ($1::bigint[]) AND state = 'waiting';

-- name: DropOldNotifications
-- Rows older than 90 days; those of events that may still be found are kept, else they are new.
DELETE FROM notifications WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM notifications WHERE created_at < now() - interval '90 days' LIMIT $1));

-- name: EndNotifications
-- The message with $1 was sent; or it failed with $3, and is tried again after $4 seconds (NULL:
-- never).
UPDATE notifications SET state = $2, error = $3, sent_at = CASE WHEN $2 = 'sent' THEN now() END,
    not_before = coalesce(now() + $4::float8 * interval '1 second', not_before)
WHERE id = ANY ($1::bigint[]) AND state = 'sending';

-- name: ListNotifications
-- returns: id int, type text, identity text, severity text
SELECT id, type, identity, severity FROM user_notifications WHERE grid_user = $1 ORDER BY id;

-- name: NewNotifications
-- returns: subscription_id int, event_id int64, campaign_id int64?, code text, message text
-- Events after $1 of the campaigns of subscribers, and those of clusters and the grid for its
-- administrators, that came after the subscription and are not yet among its notifications; those
-- with a code of $3 only for who wants more than the worst. At most $2.
SELECT n.id AS subscription_id, e.id AS event_id, e.campaign_id, e.code,
    left(e.message, 1000) AS message
FROM events AS e
LEFT JOIN campaigns AS c ON c.id = e.campaign_id
JOIN user_notifications AS n
    ON n.grid_user = CASE WHEN e.campaign_id IS NULL THEN '%%admin%%' ELSE c.grid_user END
WHERE e.id > $1 AND e.class <> 'log' AND e.date_open >= n.created_at
    AND (n.severity <> 'high' OR e.code <> ALL ($3::text[]))
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

-- name: Subscribe
INSERT INTO user_notifications (grid_user, type, identity, severity)
VALUES ($1, $2, $3, $4)
ON CONFLICT (grid_user, identity, type) DO UPDATE SET severity = excluded.severity;

-- name: Unsubscribe
DELETE FROM user_notifications WHERE grid_user = $1 AND type = $2 AND ($3 = '' OR identity = $3);

-- name: WaitingNotifications
-- returns: id int64, subscription_id int, type text, identity text, campaign_id int64?,
-- returns: campaign text?, severity text, code text, message text, age_s double, attempts int,
-- returns: sent_lately int64
-- What is to be sent, by subscription and campaign, and how many messages each subscription had in
-- the last hour; at most $1.
SELECT q.id, q.subscription_id, n.type, n.identity, q.campaign_id, c.name AS campaign, q.severity,
    q.code, q.message, extract(epoch FROM now() - q.created_at) AS age_s, q.attempts,
    (SELECT count(DISTINCT s.message_id) FROM notifications AS s
        WHERE s.subscription_id = q.subscription_id
            AND s.sent_at > now() - interval '1 hour') AS sent_lately
FROM notifications AS q
JOIN user_notifications AS n ON n.id = q.subscription_id
LEFT JOIN campaigns AS c ON c.id = q.campaign_id
WHERE q.state = 'waiting' AND q.not_before <= now()
ORDER BY q.subscription_id, q.campaign_id, q.id LIMIT $1;
