-- name: ClearGrants
-- Removes all grants: a plan replaces them whole.
DELETE FROM grants;

-- name: CountEndsOfGrants
-- Each pass means its grants as of now, also when they are those of the last one. The updator,
-- which alone counts ended jobs, has stepped before: none has ended since the pass began.
UPDATE grants AS g SET ended = e.n
FROM grants AS o
CROSS JOIN LATERAL (
    SELECT coalesce(sum(c.jobs), 0)::bigint AS n FROM job_counts AS c
    WHERE c.campaign_id = o.campaign_id AND c.cluster_id = o.cluster_id AND c.kind = o.kind
        AND NOT c.in_flight
) AS e
WHERE g.campaign_id = o.campaign_id AND g.cluster_id = o.cluster_id AND g.kind = o.kind
    AND g.ended <> e.n;

-- name: InsertGrants
-- The grants of plan $1: at most n jobs of the kind may be in flight there.
INSERT INTO grants (campaign_id, cluster_id, kind, n, rank, plan_id)
SELECT g.campaign_id, g.cluster_id, g.kind::batch_kind, g.n, g.rank, $1
FROM unnest($2::bigint[], $3::int[], $4::text[], $5::int[], $6::int[])
    AS g (campaign_id, cluster_id, kind, n, rank);

-- name: ReplaceWouldSend
-- Replaces what observed clusters would be sent now: campaign $1, cluster $2, jobs $3.
WITH new AS (
    SELECT * FROM unnest($1::bigint[], $2::int[], $3::int[]) AS w (campaign_id, cluster_id, n)
), gone AS (
    DELETE FROM would_send AS o
    WHERE NOT EXISTS (SELECT FROM new WHERE new.campaign_id = o.campaign_id
        AND new.cluster_id = o.cluster_id)
)
INSERT INTO would_send (campaign_id, cluster_id, n) SELECT campaign_id, cluster_id, n FROM new
ON CONFLICT (cluster_id, campaign_id) DO UPDATE SET n = excluded.n WHERE would_send.n <> excluded.n;
