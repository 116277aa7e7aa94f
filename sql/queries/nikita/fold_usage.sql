-- Usage of minutes older than a day becomes usage of hours, of hours older than a month that of
-- days ($1: the unit, $2: the width it is made from, $3: the age). The row at the beginning of the
-- unit takes up the others: at most $4 of them.
WITH old AS (
    DELETE FROM usage WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM usage
        WHERE width = $2::interval AND bucket < date_trunc($1, now() - $3::interval)
            AND bucket <> date_trunc($1, bucket)
        LIMIT $4))
    RETURNING *
)
INSERT INTO usage AS u (bucket, campaign_id, cluster_id, grid_user, project, slot_s, ok, not_ok, width)
SELECT date_trunc($1, bucket), campaign_id, cluster_id, min(grid_user), min(project), sum(slot_s), sum(ok), sum(not_ok),
    ('1 ' || $1)::interval
FROM old GROUP BY 1, 2, 3
ON CONFLICT (bucket, campaign_id, cluster_id) DO UPDATE
SET slot_s = u.slot_s + excluded.slot_s, ok = u.ok + excluded.ok, not_ok = u.not_ok + excluded.not_ok
