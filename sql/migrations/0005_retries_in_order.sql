-- A claim takes the retries of a campaign from the front, without sorting all of them.
CREATE INDEX retry_in_order ON retry (campaign_id, rank, since, idx);
