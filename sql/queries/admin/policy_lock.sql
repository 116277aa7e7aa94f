-- Changes of the policy are checked as a whole: one at a time.
LOCK TABLE policy_settings IN SHARE ROW EXCLUSIVE MODE
