DELETE FROM admission_rules WHERE name = $1
