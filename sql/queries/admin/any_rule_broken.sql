SELECT EXISTS (SELECT FROM events WHERE code = 'RULE_BROKEN' AND state = 'open')
