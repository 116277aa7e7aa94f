-- Whether anybody, a person or a preset, has ever set anything.
SELECT EXISTS (SELECT FROM policy_settings) OR EXISTS (SELECT FROM policy_log)
