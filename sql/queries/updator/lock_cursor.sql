SELECT c.type, cur.ntasks - cur.next_idx AS waiting
FROM campaign_cursor AS cur JOIN campaigns AS c ON c.id = cur.campaign_id
WHERE cur.campaign_id = $1 AND c.state = 'in_treatment'
FOR UPDATE OF cur
