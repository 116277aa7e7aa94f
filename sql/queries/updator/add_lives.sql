-- How long jobs lived on clusters $1: histograms of those killed for the clusters' own users ($2) and of the
-- others ($3). A full one is halved first, so that what was long ago counts less and less.
INSERT INTO cluster_lives AS c (cluster_id, killed, ended)
SELECT e.cluster_id, e.killed::int[], e.ended::int[] FROM unnest($1::int[], $2::text[], $3::text[]) AS e (cluster_id, killed, ended)
ON CONFLICT (cluster_id) DO UPDATE SET (killed, ended) = (
    SELECT coalesce(array_agg(coalesce(k, 0) / (CASE WHEN full_one THEN 2 ELSE 1 END) + coalesce(new_k, 0) ORDER BY i), '{}'),
        coalesce(array_agg(coalesce(n, 0) / (CASE WHEN full_one THEN 2 ELSE 1 END) + coalesce(new_n, 0) ORDER BY i), '{}')
    FROM unnest(c.killed, c.ended, excluded.killed, excluded.ended) WITH ORDINALITY AS h (k, n, new_k, new_n, i),
        (SELECT sum(x) > 20000 AS full_one FROM unnest(c.killed || c.ended) AS x) AS s)
