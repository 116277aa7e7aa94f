-- Tasks that no job has been sent for, of the campaigns at work.
SELECT c.id, u.ntasks - u.next_idx + (SELECT count(*) FROM retry AS r WHERE r.campaign_id = c.id) AS waiting
FROM campaigns AS c JOIN campaign_cursor AS u ON u.campaign_id = c.id
WHERE c.state IN ('in_treatment', 'paused')
