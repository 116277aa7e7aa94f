-- What a cluster said of copies; an empty word: it is gone.
WITH told AS (
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]) AS t (cluster_id, remote_id, error)
), gone AS (
    DELETE FROM twins AS t USING told WHERE t.cluster_id = told.cluster_id AND t.remote_id = told.remote_id AND told.error = ''
)
UPDATE twins AS t SET error = told.error
FROM told WHERE t.cluster_id = told.cluster_id AND t.remote_id = told.remote_id AND told.error <> ''
