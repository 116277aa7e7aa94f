-- What part of the slots that local users left, and that were up, our jobs had in the last $1 seconds; NULL: there were none.
SELECT sum(used_by_cigri * s) / nullif(sum((max_resources - unavailable_resources - greatest(used_resources - used_by_cigri, 0)) * s), 0) AS part
FROM (
    SELECT max_resources, unavailable_resources, used_resources, used_by_cigri,
        extract(epoch FROM lead(at, 1, now()) OVER (PARTITION BY cluster_id ORDER BY at) - at) AS s
    FROM gridstatus WHERE at >= now() - $1 * interval '1 second'
) AS g;
