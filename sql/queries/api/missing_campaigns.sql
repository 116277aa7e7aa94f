-- Those of $1 that are no campaigns.
SELECT id FROM unnest($1::bigint[]) AS a (id) WHERE NOT EXISTS (SELECT FROM campaigns AS c WHERE c.id = a.id)
