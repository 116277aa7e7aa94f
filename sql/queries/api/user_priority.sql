-- The highest priority that users may give (docs/policies.md); a row that somebody broke by hand counts for nothing.
SELECT coalesce((SELECT value::text::int FROM policy_settings
                 WHERE key = 'user_priority' AND value::text ~ '^[0-9]{1,2}$'), 9)
