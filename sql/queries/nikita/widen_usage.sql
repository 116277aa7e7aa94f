-- The rows that have taken up the others (fold_usage) say so.
UPDATE usage SET width = ('1 ' || $1)::interval
WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM usage AS u
    WHERE width = $2::interval AND bucket < date_trunc($1, now() - $3::interval) AND bucket = date_trunc($1, bucket)
        AND NOT EXISTS (SELECT FROM usage AS o WHERE o.campaign_id = u.campaign_id AND o.cluster_id = u.cluster_id
            AND o.width = $2::interval AND o.bucket > u.bucket AND o.bucket < u.bucket + ('1 ' || $1)::interval)
    LIMIT $4))
