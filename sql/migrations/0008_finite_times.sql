-- A time that operators may have set to 'infinity' in SQL, to compute with: NULL is never, as it is
-- in these columns. What is before 1970 is over anyway.
CREATE FUNCTION finite(t timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN t < 'infinity' THEN greatest(t, 'epoch') END  -- greatest() ignores NULL
$$;
