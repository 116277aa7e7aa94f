-- The campaign and its cursor, both locked: the updator ends a campaign under the lock of its cursor, so nothing
-- can be added or brought back while it is being ended. The cursor comes first, as it does there.
WITH cursor AS MATERIALIZED (
    SELECT campaign_id, ntasks, next_idx FROM campaign_cursor WHERE campaign_id = $1 FOR UPDATE
)
SELECT c.id, c.grid_user, c.name, c.type, c.state, c.wanted, c.jdl, c.nb_params, c.format, c.columns, c.first_task_id,
    cursor.ntasks, cursor.next_idx
FROM cursor JOIN campaigns AS c ON c.id = cursor.campaign_id
FOR UPDATE OF c;
