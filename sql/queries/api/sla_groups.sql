-- The groups of policy sla, when it is the policy.
SELECT g.key FROM policy_settings AS p, policy_settings AS s, jsonb_object_keys(s.value) AS g (key)
WHERE p.key = 'policy' AND p.value = '"sla"' AND s.key = 'sla.groups' AND jsonb_typeof(s.value) = 'object'
ORDER BY 1
