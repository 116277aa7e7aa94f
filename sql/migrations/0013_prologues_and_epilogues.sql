-- An epilogue undoes what the prologue has made: tasks that come after it need the prologue again.
ALTER TABLE placements DROP CONSTRAINT placements_prologue_check;
ALTER TABLE placements ADD CONSTRAINT placements_prologue_check
    CHECK (prologue IN ('none', 'done', 'failed', 'undone'));

-- What ends after an epilogue asks for the next one: nobody looks for epilogues that have run.
DROP INDEX placements_with_epilogue;

-- A prologue that is in flight when the last task ends is for nothing; its epilogue is due.
ALTER TABLE kills DROP CONSTRAINT kills_reason_check;
ALTER TABLE kills ADD CONSTRAINT kills_reason_check
    CHECK (reason IN ('campaign_cancelled', 'campaign_over', 'task_done', 'user', 'drain',
        'excess_waiting', 'waiting_too_long', 'walltime', 'preempted_by_grid', 'never_started',
        'recalled', 'shared_job'));

CREATE VIEW prologues_in_flight AS
SELECT campaign_id, cluster_id FROM live WHERE idx < 0 AND kind = 'prologue'
UNION ALL
SELECT campaign_id, cluster_id FROM batches
WHERE kind = 'prologue' AND state IN ('intended', 'in_doubt');
