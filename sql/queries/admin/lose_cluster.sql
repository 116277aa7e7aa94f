-- Its operator says that what was sent to cluster $1 until now will not come back.
UPDATE clusters SET lost_at = now(), lost_by = $2 WHERE name = $1
RETURNING
    (SELECT count(*) FROM batches AS b
     WHERE b.cluster_id = clusters.id AND b.state IN ('intended', 'in_doubt')) AS in_doubt,
    (SELECT count(*) FROM live AS l WHERE l.cluster_id = clusters.id) AS live
