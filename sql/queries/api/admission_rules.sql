SELECT id, name, code, priority, mode FROM admission_rules ORDER BY priority, id;
