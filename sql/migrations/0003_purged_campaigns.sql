-- A campaign is purged in pieces: from the first of them on nothing is added to it and nothing of
-- it is changed.
ALTER TABLE campaigns ADD COLUMN purge_since timestamptz;
-- As before, without it: the audit has its own row of a purge.
DROP TRIGGER audited ON campaigns;
CREATE TRIGGER audited AFTER INSERT OR DELETE ON campaigns FOR EACH ROW
EXECUTE FUNCTION audit_row('campaign', '{id}', '{state,state_reason,submission_time,
    completion_time,finishing_since,first_task_id,format,columns,jdl,notes,upload_id,purge_since}',
    '{}');
