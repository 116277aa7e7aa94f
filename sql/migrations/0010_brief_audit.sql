-- Users may change the settings of a campaign as often as they like, and nobody removes the audit
-- of the last 30 days: of a change of a campaign it keeps the begin of long values.
CREATE FUNCTION brief(doc jsonb) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN CASE
        WHEN jsonb_typeof(doc) = 'object' THEN
            (SELECT coalesce(jsonb_object_agg(key, brief(value)), '{}') FROM jsonb_each(doc))
        WHEN length(doc #>> '{}') > 1000 THEN to_jsonb(left(doc #>> '{}', 1000) || '...')
        ELSE doc END;
END $$;

-- Argument: the columns that are not recorded.
CREATE FUNCTION audit_campaign() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    was jsonb := to_jsonb(OLD) - TG_ARGV[0]::text[];
    is_now jsonb := to_jsonb(NEW) - TG_ARGV[0]::text[];
BEGIN
    IF was = is_now THEN RETURN NULL; END IF;
    PERFORM write_audit('changed', 'campaign ' || NEW.id,
        brief(json_difference(was, is_now)), brief(json_difference(is_now, was)));
    RETURN NULL;
END $$;

DROP TRIGGER audited_change ON campaigns;
CREATE TRIGGER audited_change AFTER UPDATE OF grid_user, name, type, project, priority, sla_group,
    wanted, nb_params, jdl, max_tries, max_replicas, lost_after_s ON campaigns FOR EACH ROW
EXECUTE FUNCTION audit_campaign('{state,state_reason,completion_time,finishing_since,notes}');
