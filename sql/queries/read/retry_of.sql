-- When task $2 of campaign $1 goes again, and where it would rather not; and how many go before a task that was never sent.
SELECT extract(epoch FROM r.not_before - now()) AS wait_s,
       (SELECT string_agg(name, ', ' ORDER BY id) FROM clusters WHERE id = ANY (r.avoid)) AS avoid,
       greatest($2 - c.next_idx, 0) AS before
FROM campaign_cursor AS c LEFT JOIN retry AS r ON r.campaign_id = c.campaign_id AND r.idx = $2
WHERE c.campaign_id = $1;
