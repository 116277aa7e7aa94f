-- FBS-13: tasks that are sent before their campaign's cursor has come to them. They have a row in
-- `retry` until they are sent; these rows say that the cursor does not send them again.
CREATE TABLE boosted_tasks (
    campaign_id bigint NOT NULL,
    idx bigint NOT NULL,
    PRIMARY KEY (campaign_id, idx)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

-- A claim reads the cursor's row alone, under its lock: what it must not take stands there.
ALTER TABLE campaign_cursor
    ADD COLUMN boosted bigint NOT NULL DEFAULT 0,  -- rows in boosted_tasks
    ADD COLUMN next_boosted bigint,                -- the first of them
    ADD CONSTRAINT boosted_in_range CHECK ((boosted = 0) = (next_boosted IS NULL) AND boosted >= 0);
ALTER TABLE campaign_cursor
    ADD COLUMN waiting bigint NOT NULL GENERATED ALWAYS AS (ntasks - next_idx - boosted) STORED,
    ADD CONSTRAINT waiting_in_range CHECK (waiting >= 0);
