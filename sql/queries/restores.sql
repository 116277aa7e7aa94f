-- name: AdoptBatch
-- returns: slots int
-- Batch $4 of campaign $1, which cluster $2 has and the restored database did not know, with tasks
-- $3, of which $7 share a job: it is looked up by its tag as any batch in doubt.
WITH ids AS (
    UPDATE id_blocks SET next = next + cardinality($3::bigint[]) WHERE name = 'job'
    RETURNING next - cardinality($3::bigint[]) AS first
)
INSERT INTO batches (first_job_id, kind, campaign_id, cluster_id, n, idxs, slots, tag, epoch,
    state, send_by, created_at, doubtful_since, next_lookup_at, error, tasks_per_job)
SELECT ids.first, $5::batch_kind, $1, $2, cardinality($3::bigint[]), $3::bigint[], cc.slots, $4, $6,
    'in_doubt', now(), r.state_of, now(), now(), 'sent after the backup that was restored', $7::int
FROM ids, restored_clusters AS r, campaign_clusters AS cc
WHERE r.cluster_id = $2 AND cc.campaign_id = $1 AND cc.cluster_id = $2
RETURNING slots;

-- name: AwaitModules
-- returns: epoch int64
-- What modules are writing under the grid's epoch is committed, and the next of them wait for us.
SELECT epoch FROM grid FOR UPDATE;

-- name: CampaignsOfTags
-- returns: campaign_id int64, kind text, ntasks int64, settled bool
-- The campaigns $1 that are older than the restore and not over, locked as claims lock them.
-- `settled`: the outcome of every batch that the backup had on its way is known.
SELECT cur.campaign_id, CASE c.type WHEN 'test' THEN 'test' ELSE 'task' END AS kind, cur.ntasks,
    NOT EXISTS (
        SELECT FROM batches AS b
        WHERE b.campaign_id = cur.campaign_id AND b.state IN ('intended', 'in_doubt')
            AND b.epoch < r.epoch) AS settled
FROM restored_clusters AS r
JOIN campaign_cursor AS cur ON cur.campaign_id = ANY ($1::bigint[])
    AND cur.campaign_id <= r.last_campaign
JOIN campaigns AS c ON c.id = cur.campaign_id AND c.completion_time IS NULL
WHERE r.cluster_id = $2
ORDER BY cur.campaign_id
FOR UPDATE OF cur;

-- name: CurrentSchema
-- returns: name text
SELECT current_schema()::text AS name;

-- name: EndReconciliation
-- returns: cluster_id int64
-- Cluster $1 has been asked, and all that it ran is known: no row while a batch of an older
-- campaign is in doubt there.
DELETE FROM restored_clusters AS r
WHERE r.cluster_id = $1 AND NOT EXISTS (
    SELECT FROM batches AS b
    WHERE b.cluster_id = $1 AND b.campaign_id <= r.last_campaign
        AND b.state IN ('intended', 'in_doubt'))
RETURNING r.cluster_id;

-- name: ForgetRetriesInFlight
-- Tasks of campaigns up to $1 that run on a cluster or are done are not retried: their retry was
-- made before the runner had found them there.
DELETE FROM retry AS r
WHERE r.campaign_id <= $1 AND (
    EXISTS (SELECT FROM live AS l WHERE l.campaign_id = r.campaign_id AND l.idx = r.idx)
    OR EXISTS (
        SELECT FROM done AS d
        WHERE d.campaign_id = r.campaign_id AND d.idx = r.idx AND d.counted));

-- name: HasBeenUsed
-- returns: used bool
-- Whether the grid has campaigns, or clusters that `cigri up` has not made.
SELECT EXISTS (SELECT FROM campaigns) OR EXISTS (SELECT FROM clusters WHERE home IS NULL) AS used;

-- name: HasRestoreUnclear
-- returns: found bool
-- Whether batch $2 of campaign $1 was reported, answered or not.
SELECT true AS found FROM events
WHERE campaign_id = $1 AND code = 'RESTORE_UNCLEAR' AND fingerprint = $2 LIMIT 1;

-- name: KnownTags
-- returns: tag text
-- Those of the tags $1 that have a batch.
SELECT tag FROM batches WHERE tag = ANY ($1::text[]);

-- name: LostState
-- returns: campaign int64, job int64, task int64, epoch int64
-- What a state has reached that a backup is about to replace: the next numbers and its epoch.
SELECT coalesce((SELECT last_value + 1 FROM pg_sequences
        WHERE schemaname = current_schema() AND sequencename = 'campaigns_id_seq'), 1) AS campaign,
    (SELECT next FROM id_blocks WHERE name = 'job') AS job,
    (SELECT next FROM id_blocks WHERE name = 'task') AS task,
    epoch
FROM grid;

-- name: OtherSessions
-- returns: application_name text, address text
-- Programs of a grid that use this database besides us.
SELECT application_name, coalesce(host(client_addr), 'this host') AS address
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'cigri %'
    AND backend_type = 'client backend'
ORDER BY 1, 2;

-- name: RestoredCluster
-- returns: state_of double, last_campaign int64, lost bool
-- No row: cluster $1 has nothing to be asked. `lost`: an operator has given it up since.
SELECT extract(epoch FROM r.state_of) AS state_of, r.last_campaign,
    coalesce(k.lost_at > r.restored_at, false) AS lost
FROM restored_clusters AS r JOIN clusters AS k ON k.id = r.cluster_id
WHERE r.cluster_id = $1;

-- name: TakeFromWaiting
-- returns: idx int64
-- Tasks $2 of campaign $1 that were to be retried, or waited for their user: they have been sent.
WITH attention AS (
    DELETE FROM needs_attention WHERE campaign_id = $1 AND idx = ANY ($2::bigint[]) RETURNING idx
), retried AS (
    DELETE FROM retry WHERE campaign_id = $1 AND idx = ANY ($2::bigint[]) RETURNING idx
)
SELECT idx FROM attention UNION SELECT idx FROM retried;
