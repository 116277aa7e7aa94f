-- name: AcknowledgeEvent
-- returns: id int64
-- Operator $2 has taken the open event $1 of the grid on, and says $3; without $2 nobody has.
UPDATE events
SET acked_by = $2, acked_at = CASE WHEN $2::text IS NOT NULL THEN now() END, acked_note = $3
WHERE id = $1 AND state = 'open' AND campaign_id IS NULL
RETURNING id;

-- name: AnyRuleBroken
-- returns: any bool
SELECT EXISTS (SELECT FROM events WHERE code = 'RULE_BROKEN' AND state = 'open') AS any;

-- name: CampaignOfEvent
-- returns: campaign_id int64?
SELECT campaign_id FROM events WHERE id = $1;

-- name: CloseEvents
-- Closes, in the name of $1, the open events that meet every filter: ids $2, campaign $3 and
-- cluster $4 (0: of none), codes $5, classes $6, fingerprint $7, nothing added for $8 seconds.
-- NULL: any.
UPDATE events
SET state = 'closed', date_closed = now(), date_update = now(), closed_by = $1
WHERE state = 'open'
    AND ($2::bigint[] IS NULL OR id = ANY ($2))
    AND ($3::bigint IS NULL OR coalesce(campaign_id, 0) = $3)
    AND ($4::int IS NULL OR coalesce(cluster_id, 0) = $4)
    AND ($5::text[] IS NULL OR code = ANY ($5))
    AND ($6::text[] IS NULL OR class = ANY ($6))
    AND ($7::text IS NULL OR fingerprint = $7)
    AND ($8::float8 IS NULL OR date_update < now() - $8 * interval '1 second');

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
-- returns: newest int64, id int64?, message text?
-- plan: generic
-- What the user of campaign $1 should be notified of that came after event $2, but for its end,
-- which its state says; the newest of these events, in one row without an event when there is none.
SELECT n.newest, e.id, e.message
FROM (SELECT coalesce(max(id), 0) AS newest FROM events
    WHERE campaign_id = $1 AND class IN ('campaign', 'notify')) AS n
LEFT JOIN LATERAL (
    SELECT id, coalesce(nullif(message, ''), code) AS message
    FROM events
    WHERE campaign_id = $1 AND id > $2 AND class IN ('campaign', 'notify')
        AND code <> 'FINISHED_CAMPAIGN'
    ORDER BY id
    LIMIT 20
) AS e ON true;

-- name: Incidents
-- returns: id int64, code text, state text, cluster_name text?, count int64, message text,
-- returns: date_open double, date_update double, date_closed double?, closed_by text?,
-- returns: acked_by text?, acked_at double?, acked_note text?
-- Events of the grid and its clusters, the newest first: those in state $1 (open, acknowledged,
-- closed; NULL: any) behind event $2 (NULL: the newest), at most $3.
SELECT e.id, e.code, CASE WHEN e.state = 'open' AND e.acked_by IS NOT NULL THEN 'acknowledged'
        ELSE e.state END AS state,
    cl.name AS cluster_name, e.count, e.message, extract(epoch FROM e.date_open) AS date_open,
    extract(epoch FROM e.date_update) AS date_update,
    extract(epoch FROM e.date_closed) AS date_closed, e.closed_by, e.acked_by,
    extract(epoch FROM e.acked_at) AS acked_at, e.acked_note
FROM events AS e
LEFT JOIN clusters AS cl ON cl.id = e.cluster_id
WHERE e.campaign_id IS NULL AND e.class NOT IN ('job', 'log')
    AND ($1::text IS NULL
        OR ($1 = 'closed' AND e.state = 'closed')
        OR ($1 = 'open' AND e.state = 'open' AND e.acked_by IS NULL)
        OR ($1 = 'acknowledged' AND e.state = 'open' AND e.acked_by IS NOT NULL))
    AND ($2::bigint IS NULL OR e.id < $2)
ORDER BY e.id DESC LIMIT $3;

-- name: ListEvents
-- returns: id int64, class text, code text, state text, job_id int64?, cluster_id int?,
-- returns: cluster_name text?, campaign_id int64?, idx int64?, parent int64?, count int64,
-- returns: message text, sample text?, date_open text?, date_update text?, date_closed text?,
-- returns: closed_by text?
-- Events in a state of $2, by id: those of campaign $1 and, when $3, the global ones of its
-- clusters too; at most $4 after the first $5.
SELECT e.id, e.class, e.code, e.state, e.job_id, e.cluster_id, cl.name AS cluster_name,
    e.campaign_id,
       e.idx, e.parent, e.count, e.message, e.sample, e.date_open, e.date_update, e.date_closed,
           e.closed_by
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
-- What campaign $1 fails of: first what holds it, then its open events of jobs, most first; at most
-- $2.
-- Equal failures are one row, whatever the cluster: their newest event speaks for all. `tasks` of
-- them wait for their user.
WITH same AS (
    SELECT (array_agg(id ORDER BY date_update DESC, id DESC))[1] AS newest,
        sum(count)::bigint AS count,
        array_agg(id ORDER BY id) AS ids, max(date_update) AS last
    FROM events
    WHERE campaign_id = $1 AND state = 'open' AND class IN ('job', 'campaign', 'cluster')
    GROUP BY class, code, fingerprint, CASE WHEN class <> 'job' THEN id END
    ORDER BY class = 'job', count DESC, newest LIMIT $2
)
SELECT e.id, e.class, e.code, e.message, s.count, e.idx, e.job_id, cl.name AS cluster, e.sample,
    s.last AS date_update, array_to_json(s.ids) AS events, coalesce(c.names, '[]') AS clusters,
        t.n AS tasks
FROM same AS s
JOIN events AS e ON e.id = s.newest
LEFT JOIN clusters AS cl ON cl.id = e.cluster_id
CROSS JOIN LATERAL (
    SELECT json_agg(k.name ORDER BY k.name) AS names
    FROM clusters AS k WHERE k.id IN (SELECT cluster_id FROM events WHERE id = ANY (s.ids))
) AS c
CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (SELECT FROM needs_attention
        WHERE event_id = ANY (s.ids) LIMIT 100001) AS few
) AS t
ORDER BY e.class = 'job', s.count DESC, e.id;

-- name: ListGlobalEvents
-- returns: id int64, class text, code text, state text, job_id int64?, cluster_id int?,
-- returns: cluster_name text?, campaign_id int64?, idx int64?, parent int64?, count int64,
-- returns: message text, sample text?, date_open text?, date_update text?, date_closed text?,
-- returns: closed_by text?
-- Events of no campaign in a state of $1, by id; at most $2 after the first $3. The log class is
-- left out unless $4.
SELECT e.id, e.class, e.code, e.state, e.job_id, e.cluster_id, cl.name AS cluster_name,
    e.campaign_id,
       e.idx, e.parent, e.count, e.message, e.sample, e.date_open, e.date_update, e.date_closed,
           e.closed_by
FROM events AS e
LEFT JOIN clusters AS cl ON cl.id = e.cluster_id
WHERE e.state = ANY ($1::text[]) AND e.campaign_id IS NULL AND e.class <> 'job'
    AND ($4 OR e.class <> 'log')
ORDER BY e.id LIMIT $2 OFFSET $3;

-- name: OpenBlackHoles
-- returns: campaign_id int64, cluster_id int64
-- Black holes with an open event.
SELECT campaign_id, cluster_id FROM events WHERE state = 'open' AND code = 'BLACK_HOLE'
    AND cluster_id IS NOT NULL;

-- name: RaiseEvent
-- returns: id int64
-- Opens an event, or counts more of the same that is open: a row with first, last and a sample.
-- When $11 names who closed it, it is a row of its own, closed from the beginning.
INSERT INTO events AS e
    (class, code, campaign_id, cluster_id, job_id, idx, fingerprint, message, sample, count,
     state, date_closed, closed_by)
VALUES
    ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, $10,
     CASE WHEN $11::text IS NULL THEN 'open' ELSE 'closed' END,
     CASE WHEN $11::text IS NOT NULL THEN now() END, $11)
ON CONFLICT (code, coalesce(campaign_id, 0), coalesce(cluster_id, 0), fingerprint)
WHERE state = 'open'
DO UPDATE SET count = e.count + excluded.count, date_update = now(), message = excluded.message,
              job_id = coalesce(excluded.job_id, e.job_id), idx = coalesce(excluded.idx, e.idx)
RETURNING e.id;

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
SELECT e.id, e.class, e.code, e.state, e.job_id, e.cluster_id, cl.name AS cluster_name,
    e.campaign_id,
       e.idx, e.parent, e.count, e.message, e.sample, e.date_open, e.date_update, e.date_closed,
       e.closed_by, c.grid_user
FROM events AS e
LEFT JOIN clusters AS cl ON cl.id = e.cluster_id
LEFT JOIN campaigns AS c ON c.id = e.campaign_id
WHERE e.id = $1;
