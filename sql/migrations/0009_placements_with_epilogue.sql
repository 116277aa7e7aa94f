-- Each pass of the updator looks for epilogues that have run in campaigns at work: of 10,000
-- placements hardly any.
CREATE INDEX placements_with_epilogue ON placements (campaign_id) WHERE epilogue <> 'none';
