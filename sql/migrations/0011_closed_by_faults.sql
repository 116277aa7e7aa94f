-- How long so many faults of its cluster close a placement: said once, for who closes it and who
-- asks since when it is closed.
CREATE FUNCTION closed_by_faults(faults int) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
    SELECT least(360 * 2 ^ least(faults / 10 - 1, 4), 3600) * interval '1 second' $$;
