-- What the ends of a fold tell of a campaign on a cluster. Each lane once.
INSERT INTO lanes AS l (campaign_id, cluster_id, proved, ended, program_failures, n_ok, sum_s, sum_sq, min_s, max_s,
    hist, first_start, last_end, prologue, epilogue, answered_test, recent_s, recent_idx, longest_killed_s, killed_at)
SELECT e.campaign_id, e.cluster_id, e.n_ok > 0, e.ended, e.failures, e.n_ok, e.sum_s, e.sum_sq, e.min_s, e.max_s,
    e.hist::int[], to_timestamp(e.first_start), to_timestamp(e.last_end), coalesce(e.prologue, 'none'),
    coalesce(e.epilogue, 'none'), e.tests > 0, e.recent_s::real[], e.recent_idx::bigint[], e.longest_killed,
    CASE WHEN e.longest_killed IS NOT NULL THEN now() END
FROM unnest($1::bigint[], $2::int[], $3::int[], $4::int[], $5::bigint[], $6::float8[], $7::float8[], $8::float8[],
    $9::float8[], $10::text[], $11::float8[], $12::float8[], $13::text[], $14::text[], $15::int[],
    $16::text[], $17::text[], $18::float8[])
    AS e (campaign_id, cluster_id, ended, failures, n_ok, sum_s, sum_sq, min_s, max_s, hist, first_start, last_end,
        prologue, epilogue, tests, recent_s, recent_idx, longest_killed)
ON CONFLICT (campaign_id, cluster_id) DO UPDATE SET
    proved = l.proved OR excluded.proved,
    ended = l.ended + excluded.ended,
    program_failures = l.program_failures + excluded.program_failures,
    n_ok = l.n_ok + excluded.n_ok, sum_s = l.sum_s + excluded.sum_s, sum_sq = l.sum_sq + excluded.sum_sq,
    min_s = least(l.min_s, excluded.min_s), max_s = greatest(l.max_s, excluded.max_s),
    hist = CASE WHEN excluded.hist IS NULL THEN l.hist WHEN l.hist IS NULL THEN excluded.hist
        ELSE (SELECT array_agg(coalesce(a, 0) + coalesce(b, 0) ORDER BY i)
              FROM unnest(l.hist, excluded.hist) WITH ORDINALITY AS h (a, b, i)) END,
    first_start = least(l.first_start, excluded.first_start),
    last_end = greatest(l.last_end, excluded.last_end),
    prologue = CASE WHEN excluded.prologue = 'none' THEN l.prologue ELSE excluded.prologue END,
    epilogue = CASE WHEN excluded.epilogue = 'none' THEN l.epilogue ELSE excluded.epilogue END,
    answered_test = l.answered_test OR excluded.answered_test,
    -- The last 20 ends.
    recent_s = (l.recent_s || excluded.recent_s)[greatest(coalesce(cardinality(l.recent_s), 0)
        + coalesce(cardinality(excluded.recent_s), 0) - 19, 1):],
    recent_idx = (l.recent_idx || excluded.recent_idx)[greatest(coalesce(cardinality(l.recent_idx), 0)
        + coalesce(cardinality(excluded.recent_idx), 0) - 19, 1):],
    longest_killed_s = greatest(l.longest_killed_s, excluded.longest_killed_s),
    killed_at = coalesce(excluded.killed_at, l.killed_at)
