-- A campaign that was reopened runs its epilogues again when its new tasks have ended.
UPDATE lanes AS l SET epilogue = 'none'
FROM campaigns AS c
WHERE c.state = 'in_treatment' AND c.finishing_since IS NULL AND l.campaign_id = c.id AND l.epilogue <> 'none'
