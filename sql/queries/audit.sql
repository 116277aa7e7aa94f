-- name: ActFor
-- returns: actor text, source text, request text
-- For this transaction: changes are those of user $1, who came from $2 with request $3.
SELECT set_config('cigri.user', $1, true) AS actor, set_config('cigri.source', $2, true) AS source,
    set_config('cigri.request', $3, true) AS request;

-- name: AddAudit
-- What a user asked for that changes no row with a trigger: action $1 on $2, with what it did ($3).
SELECT write_audit($1, $2, NULL, $3::jsonb);

-- name: DropOldAudit
-- Rows older than $1 days.
DELETE FROM audit WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM audit WHERE at < now() - $1 * interval '1 day' LIMIT $2));

-- name: ListAudit
-- returns: item text
-- The newest first, at most $7: by actor $1, on subject $2 or its kind ("cluster alpha",
-- "cluster"), of action $3, between $4 and $5 (epoch s), before row $6. NULL: any. Each of them
-- has its index: a search that finds nothing must not read the whole table.
SELECT jsonb_build_object('id', id, 'at', at, 'actor', actor, 'source', source,
    'request', request, 'action', action, 'subject', subject, 'old', old_value,
    'new', new_value)::text AS item
FROM audit
WHERE ($1::text IS NULL OR actor = $1)
    AND ($2::text IS NULL OR subject = $2 OR (subject >= $2 || ' ' AND subject < $2 || '!'))
    AND ($3::text IS NULL OR action = $3)
    AND at >= to_timestamp($4) AND at < to_timestamp($5)
    AND ($6::bigint IS NULL OR id < $6)
ORDER BY id DESC
LIMIT $7;
