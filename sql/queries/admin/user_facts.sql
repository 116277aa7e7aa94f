-- What a rule may know of user $1 beside name and groups.
SELECT
    (SELECT jsonb_build_object(
        'active_campaigns', count(*),
        'active_test_campaigns', count(*) FILTER (WHERE type = 'test'),
        'active_tasks', coalesce(sum(k.ntasks), 0))
     FROM campaigns AS c LEFT JOIN campaign_cursor AS k ON k.campaign_id = c.id
     WHERE c.state IN ('in_treatment', 'paused') AND c.grid_user = $1)
    || (SELECT jsonb_build_object(
        'running_jobs', coalesce(sum(k.n) FILTER (WHERE k.state = 'running'), 0),
        'waiting_jobs', coalesce(sum(k.n) FILTER (WHERE k.state <> 'running'), 0),
        'running_slots', coalesce(sum(k.slots) FILTER (WHERE k.state = 'running'), 0))
     FROM campaigns AS c JOIN counters AS k ON k.campaign_id = c.id
     WHERE c.state IN ('in_treatment', 'paused') AND c.grid_user = $1
         AND k.state IN ('launching', 'submitted', 'remote_waiting', 'running'))
    || (SELECT jsonb_build_object('slot_seconds_30d', coalesce(sum(slot_s), 0))
     FROM usage WHERE grid_user = $1 AND bucket > now() - interval '30 days')
