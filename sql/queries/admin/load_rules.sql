-- The rules in force, as rules::Admit takes them.
SELECT id, name, code, priority, mode FROM admission_rules WHERE mode <> 'off' ORDER BY priority, id
