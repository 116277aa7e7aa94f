-- As before, but failed tasks of a campaign that was cancelled are not counted: nobody can have
-- them tried again.
CREATE OR REPLACE FUNCTION predecessors_of(jdl jsonb)
RETURNS TABLE (after bigint, after_failed bigint, failed_tasks bigint) LANGUAGE sql STABLE AS $$
    SELECT b.after, b.after_failed, (
        SELECT count(*) FROM needs_attention AS t JOIN campaigns AS a ON a.id = t.campaign_id
        WHERE t.campaign_id = b.after_failed AND a.state <> 'cancelled')
    FROM (
        SELECT min(a.id) FILTER (WHERE a.state IN ('in_treatment', 'paused')) AS after,
            min(a.id) FILTER (WHERE x.ok AND (a.state = 'cancelled' OR a.state = 'terminated'
                AND EXISTS (SELECT FROM needs_attention AS t WHERE t.campaign_id = a.id)))
                AS after_failed
        FROM (
            SELECT ok.id, true AS ok FROM jsonb_array_elements_text(
                CASE WHEN jsonb_typeof(jdl -> 'after') = 'array' THEN jdl -> 'after' END)
                AS ok (id)
            UNION ALL
            SELECT anyhow.id, false FROM jsonb_array_elements_text(
                CASE WHEN jsonb_typeof(jdl -> 'after_any') = 'array' THEN jdl -> 'after_any' END)
                AS anyhow (id)
        ) AS x
        JOIN campaigns AS a ON a.id = CASE WHEN x.id ~ '^[0-9]{1,18}$' THEN x.id::bigint END
    ) AS b
$$;
