-- Campaigns whose user has given them more tasks, another program, or their failed tasks again: as
-- many canary jobs as at the beginning may run where nothing of them has succeeded. Added by the
-- api, taken by the updator, which alone changes placements. Without a key, so that neither waits
-- for the other.
CREATE TABLE canary_renewals (
    campaign_id bigint NOT NULL
);
