SELECT key, value FROM policy_settings
