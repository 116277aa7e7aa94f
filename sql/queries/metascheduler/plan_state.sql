SELECT state FROM plan_state
