INSERT INTO plan_state (plan_id, state) VALUES ($1, $2::jsonb)
ON CONFLICT (one) DO UPDATE SET plan_id = excluded.plan_id, state = excluded.state
