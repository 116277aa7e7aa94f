-- A client that does not know what became of its request repeats it with the same key (header
-- Idempotency-Key): what was carried out once is not carried out again.
CREATE TABLE request_keys (
    grid_user text NOT NULL,
    key text NOT NULL CHECK (length(key) BETWEEN 1 AND 64),
    campaign_id bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (grid_user, key)
);
COMMENT ON COLUMN request_keys.campaign_id IS 'what the request has made, or added tasks to';
CREATE INDEX request_keys_at ON request_keys (at);
