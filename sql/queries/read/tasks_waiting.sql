-- The next $3 tasks after $2 of campaign $1 that wait: to go again, and those the cursor has not reached.
(SELECT idx FROM retry WHERE campaign_id = $1 AND idx > $2 ORDER BY idx LIMIT $3)
UNION ALL
(SELECT generate_series(greatest(next_idx, $2 + 1), least(ntasks, greatest(next_idx, $2 + 1) + $3) - 1)
 FROM campaign_cursor WHERE campaign_id = $1)
ORDER BY idx LIMIT $3;
