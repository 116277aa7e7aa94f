-- name: AnyRuleBroken
-- returns: any bool
SELECT EXISTS (SELECT FROM events WHERE code = 'RULE_BROKEN' AND state = 'open') AS any;

-- name: CampaignOfEvent
-- returns: campaign_id int64?
SELECT campaign_id FROM events WHERE id = $1;

-- name: CloseCampaignEvents
-- Closes the open events of campaign $1: all, or $2 alone.
UPDATE events
SET state = 'closed', date_closed = now(), date_update = now(), closed_by = $3
WHERE campaign_id = $1 AND ($2::bigint IS NULL OR id = $2) AND state = 'open';

-- name: CloseClusterEvents
-- returns: id int64
-- Closes the open events of a code for a cluster (and campaign, when $3 is given).
UPDATE events
SET state = 'closed', date_closed = now(), date_update = now(), closed_by = $4
WHERE state = 'open' AND code = $1 AND cluster_id IS NOT DISTINCT FROM $2
    AND ($3::bigint IS NULL OR campaign_id = $3)
RETURNING id;

-- name: CloseDrainedEvent
-- Cluster $1 takes jobs again, by the will of $2.
UPDATE events SET state = 'closed', date_closed = now(), date_update = now(), closed_by = $2
WHERE code = 'DRAINED' AND cluster_id = $1 AND campaign_id IS NULL AND state = 'open';

-- name: CloseEvent
-- Closes the open event of code $1, campaign $2, cluster $3 and fingerprint $4: its cause has gone.
UPDATE events SET state = 'closed', date_closed = now(), date_update = now(), closed_by = $5
WHERE code = $1 AND coalesce(campaign_id, 0) = coalesce($2::bigint, 0)
  AND coalesce(cluster_id, 0) = coalesce($3::int, 0) AND fingerprint = $4 AND state = 'open';

-- name: CloseEventsAtEnd
-- The end of campaign $1 closes its open events: all of them, or ($2) those that nobody has to
-- answer.
UPDATE events
SET state = 'closed', date_closed = now(), date_update = now(), closed_by = 'updator'
WHERE campaign_id = $1 AND state = 'open' AND (class IN ('notify', 'log') OR NOT $2);

-- name: CloseFailureEvents
-- What kept campaign $1 or its tasks from running has been answered: failures of jobs, and holds.
UPDATE events
SET state = 'closed', date_closed = now(), date_update = now(), closed_by = $2
WHERE campaign_id = $1 AND state = 'open'
    AND (class = 'job' OR code IN ('CANARY_FAILED', 'HELD_EVERYWHERE'));

-- name: CloseGlobalEvent
UPDATE events
SET state = 'closed', date_closed = now(), date_update = now(), closed_by = $2
WHERE id = $1 AND state = 'open';

-- name: CloseHoldEvents
-- The holds of campaign $1 are answered: it is another program now.
UPDATE events
SET state = 'closed', date_closed = now(), date_update = now(), closed_by = $2
WHERE campaign_id = $1 AND state = 'open' AND code IN ('CANARY_FAILED', 'HELD_EVERYWHERE');

-- name: CloseLogEvents
-- What needs no answer is closed automatically a day after it was seen last.
UPDATE events SET state = 'closed', date_closed = now(), closed_by = 'nikita'
WHERE state = 'open' AND class = 'log' AND date_update < now() - interval '1 day';

-- name: CloseRuleBrokenEvent
-- The rules run again: a campaign has passed all of them.
UPDATE events SET state = 'closed', date_closed = now(), date_update = now(), closed_by = 'api'
WHERE code = 'RULE_BROKEN' AND state = 'open';

-- name: CountFailures
-- returns: n int64
-- How many rows read/failures.sql would give without its limit.
SELECT count(*) AS n FROM (
    SELECT FROM events
    WHERE campaign_id = $1 AND state = 'open' AND class IN ('job', 'campaign', 'cluster')
    GROUP BY class, code, fingerprint, CASE WHEN class <> 'job' THEN id END
) AS same;

-- name: DropOldEvents
-- Events closed for 90 days that no task to be fixed refers to.
DELETE FROM events WHERE ctid = ANY (ARRAY(
    SELECT e.ctid FROM events AS e
    WHERE e.state = 'closed' AND e.date_closed < now() - interval '90 days'
        AND NOT EXISTS (SELECT FROM needs_attention AS t WHERE t.event_id = e.id)
    LIMIT $1));

-- name: EventsSince
-- returns: id int64, message text
-- What the user of campaign $1 should be notified of that came after event $2.
SELECT id, coalesce(nullif(message, ''), code) AS message
FROM events
WHERE campaign_id = $1 AND id > $2 AND class IN ('campaign', 'notify')
ORDER BY id
LIMIT 20;

-- name: ListEvents
-- returns: id int64, class text, code text, state text, job_id int64?, cluster_id int?,
-- returns: cluster_name text?, campaign_id int64?, idx int64?, parent int64?, count int64,
-- returns: message text, sample text?, date_open text?, date_update text?, date_closed text?,
-- returns: closed_by text?
-- Events in a state of $2, by id: those of campaign $1 and, when $3, the global ones of its clusters too;
-- at most $4 after the first $5.
SELECT e.id, e.class, e.code, e.state, e.job_id, e.cluster_id, cl.name AS cluster_name, e.campaign_id,
       e.idx, e.parent, e.count, e.message, e.sample, e.date_open, e.date_update, e.date_closed, e.closed_by
FROM events AS e
LEFT JOIN clusters AS cl ON cl.id = e.cluster_id
WHERE e.state = ANY ($2::text[])
  AND (e.campaign_id = $1
       OR ($3 AND e.campaign_id IS NULL AND e.class = 'cluster'
           AND e.cluster_id IN (SELECT cluster_id FROM campaign_clusters WHERE campaign_id = $1)))
ORDER BY e.id LIMIT $4 OFFSET $5;

-- name: ListFailures
-- returns: id int64, class text, code text, message text, count int64, idx int64?,
-- returns: job_id int64?, cluster text?, sample text?, date_update text, events text,
-- returns: clusters text, tasks int64
-- What campaign $1 fails of: first what holds it, then its open events of jobs, most first; at most $2.
-- Equal failures are one row, whatever the cluster: their newest event speaks for all. `tasks` of
-- them wait for their user.
WITH same AS (
    SELECT (array_agg(id ORDER BY date_update DESC, id DESC))[1] AS newest, sum(count)::bigint AS count,
        array_agg(id ORDER BY id) AS ids, max(date_update) AS last
    FROM events
    WHERE campaign_id = $1 AND state = 'open' AND class IN ('job', 'campaign', 'cluster')
    GROUP BY class, code, fingerprint, CASE WHEN class <> 'job' THEN id END
    ORDER BY class = 'job', count DESC, newest LIMIT $2
)
SELECT e.id, e.class, e.code, e.message, s.count, e.idx, e.job_id, cl.name AS cluster, e.sample,
    s.last AS date_update, array_to_json(s.ids) AS events, coalesce(c.names, '[]') AS clusters, t.n AS tasks
FROM same AS s
JOIN events AS e ON e.id = s.newest
LEFT JOIN clusters AS cl ON cl.id = e.cluster_id
CROSS JOIN LATERAL (
    SELECT json_agg(k.name ORDER BY k.name) AS names
    FROM clusters AS k WHERE k.id IN (SELECT cluster_id FROM events WHERE id = ANY (s.ids))
) AS c
CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (SELECT FROM needs_attention WHERE event_id = ANY (s.ids) LIMIT 100001) AS few
) AS t
ORDER BY e.class = 'job', s.count DESC, e.id;

-- name: ListGlobalEvents
-- returns: id int64, class text, code text, state text, job_id int64?, cluster_id int?,
-- returns: cluster_name text?, campaign_id int64?, idx int64?, parent int64?, count int64,
-- returns: message text, sample text?, date_open text?, date_update text?, date_closed text?,
-- returns: closed_by text?
-- Events of no campaign in a state of $1, by id; at most $2 after the first $3. The log class is left out
-- unless $4.
SELECT e.id, e.class, e.code, e.state, e.job_id, e.cluster_id, cl.name AS cluster_name, e.campaign_id,
       e.idx, e.parent, e.count, e.message, e.sample, e.date_open, e.date_update, e.date_closed, e.closed_by
FROM events AS e
LEFT JOIN clusters AS cl ON cl.id = e.cluster_id
WHERE e.state = ANY ($1::text[]) AND e.campaign_id IS NULL AND e.class <> 'job' AND ($4 OR e.class <> 'log')
ORDER BY e.id LIMIT $2 OFFSET $3;

-- name: LogCampaignEvent
-- Something that user $4 did to campaign $2: closed from the beginning.
INSERT INTO events (class, code, state, campaign_id, message, date_closed, closed_by)
VALUES ('log', $1, 'closed', $2, $3, now(), $4);

-- name: OpenBlackHoles
-- returns: campaign_id int64, cluster_id int64
-- Black holes with an open event.
SELECT campaign_id, cluster_id FROM events WHERE state = 'open' AND code = 'BLACK_HOLE'
    AND cluster_id IS NOT NULL;

-- name: RaiseDrainedEvent
-- Cluster $1 is drained, as a readable message; a second drain gives the new reason.
INSERT INTO events AS e (class, code, cluster_id, message) VALUES ('cluster', 'DRAINED', $1, $2)
ON CONFLICT (code, coalesce(campaign_id, 0), coalesce(cluster_id, 0), fingerprint) WHERE state = 'open'
DO UPDATE SET count = e.count + 1, date_update = now(), message = excluded.message;

-- name: RaiseEvent
-- returns: id int64
-- Opens an event, or counts one more of the same that is open: a row with first, last and a sample.
INSERT INTO events AS e (class, code, campaign_id, cluster_id, job_id, idx, fingerprint, message, sample, count)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, $10)
ON CONFLICT (code, coalesce(campaign_id, 0), coalesce(cluster_id, 0), fingerprint) WHERE state = 'open'
DO UPDATE SET count = e.count + excluded.count, date_update = now(), message = excluded.message,
              job_id = coalesce(excluded.job_id, e.job_id), idx = coalesce(excluded.idx, e.idx)
RETURNING e.id;

-- name: RaiseRuleBrokenEvent
-- An admission rule ($1) does not run: $2. One event for each rule.
INSERT INTO events AS e (class, code, fingerprint, message) VALUES ('cluster', 'RULE_BROKEN', $1, $2)
ON CONFLICT (code, coalesce(campaign_id, 0), coalesce(cluster_id, 0), fingerprint) WHERE state = 'open'
DO UPDATE SET count = e.count + 1, date_update = now(), message = excluded.message;

-- name: ReportedOverdueJobs
-- returns: campaign_id int64, cluster_id int64
-- Overdue jobs with an open event.
SELECT campaign_id, cluster_id FROM events WHERE state = 'open' AND code = 'OVERDUE';

-- name: ShowEvent
-- returns: id int64, class text, code text, state text, job_id int64?, cluster_id int?,
-- returns: cluster_name text?, campaign_id int64?, idx int64?, parent int64?, count int64,
-- returns: message text, sample text?, date_open text?, date_update text?, date_closed text?,
-- returns: closed_by text?, grid_user text?
-- Event $1 and the user whose campaign it concerns.
SELECT e.id, e.class, e.code, e.state, e.job_id, e.cluster_id, cl.name AS cluster_name, e.campaign_id,
       e.idx, e.parent, e.count, e.message, e.sample, e.date_open, e.date_update, e.date_closed,
       e.closed_by, c.grid_user
FROM events AS e
LEFT JOIN clusters AS cl ON cl.id = e.cluster_id
LEFT JOIN campaigns AS c ON c.id = e.campaign_id
WHERE e.id = $1;

-- name: WriteUserEvent
-- returns: id int64
-- An event written by an operator; the same one again is counted.
INSERT INTO events AS e (class, code, campaign_id, cluster_id, job_id, message)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (code, coalesce(campaign_id, 0), coalesce(cluster_id, 0), fingerprint) WHERE state = 'open'
DO UPDATE SET count = e.count + 1, date_update = now(), message = excluded.message
RETURNING id;
