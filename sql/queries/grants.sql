-- name: ClearGrants
-- Removes all grants: a plan replaces them whole.
DELETE FROM grants;

-- name: InsertGrants
-- The grants of plan $1: at most n jobs of the kind may be in flight there.
INSERT INTO grants (campaign_id, cluster_id, kind, n, rank, plan_id, tried)
SELECT g.campaign_id, g.cluster_id, g.kind::batch_kind, g.n, g.rank, $1, g.tried
FROM unnest($2::bigint[], $3::int[], $4::text[], $5::int[], $6::int[], $7::int[])
    AS g (campaign_id, cluster_id, kind, n, rank, tried);

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
