-- name: DropOldPlans
-- At most $1 plans of more than a year; the last one stays.
DELETE FROM plans WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM plans
    WHERE at < now() - interval '1 year' AND id < (SELECT max(id) FROM plans) LIMIT $1));

-- name: InsertPlan
-- returns: id int64
-- A decision: its seed, its snapshot when it is one that is kept, how long it took.
INSERT INTO plans (seed, snapshot, took_ms) VALUES ($1, $2, $3) RETURNING id;

-- name: NewestSnapshot
-- returns: id int64, seed int64, at double, age_s double, bytes int64
-- The last decision whose snapshot was kept. `plans` holds one in 10 seconds, so few rows are
-- passed over.
SELECT id, seed, extract(epoch FROM at) AS at, extract(epoch FROM now() - at) AS age_s,
    octet_length(snapshot) AS bytes
FROM plans WHERE snapshot IS NOT NULL ORDER BY id DESC LIMIT 1;

-- name: PlanHistory
-- returns: id int64, at double, seed int64, snapshot bytes
-- Stored decisions from $1 to before $2 (epoch s), the oldest first, $3 at most.
SELECT id, extract(epoch FROM at) AS at, seed, snapshot FROM plans
WHERE snapshot IS NOT NULL AND at >= to_timestamp($1) AND at < to_timestamp($2)
ORDER BY at, id LIMIT $3;

-- name: PlanSnapshot
-- returns: hex text
-- The snapshot of decision $1 as hexadecimal text.
SELECT encode(snapshot, 'hex') AS hex FROM plans WHERE id = $1;

-- name: PlanState
-- returns: state text
-- What the last decision left for the next one.
SELECT state FROM plan_state;

-- name: PutPlanState
-- Keeps what decision $1 leaves for the next one.
INSERT INTO plan_state (plan_id, state) VALUES ($1, $2::jsonb)
ON CONFLICT (one) DO UPDATE SET plan_id = excluded.plan_id, state = excluded.state;

-- name: ThinPlans
-- Thins snapshots as ThinGridstatus does. The last plan is kept whatever its age.
WITH ranked AS (
    SELECT ctid, id, row_number() OVER (PARTITION BY date_trunc(
        CASE WHEN at < now() - interval '1 day' THEN 'hour' ELSE 'minute' END, at) ORDER BY at) AS k
    FROM plans
    WHERE at < now() - interval '1 hour'
            AND at >= date_trunc('minute', now() - interval '1 hour' - $1 * interval '1 second')
        OR at < now() - interval '1 day'
            AND at >= date_trunc('hour', now() - interval '1 day' - $1 * interval '1 second')
)
DELETE FROM plans WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ranked WHERE k > 1 AND id < (SELECT max(id) FROM plans)));
