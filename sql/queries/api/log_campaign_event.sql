-- Something that user $4 did to campaign $2: closed from the beginning.
INSERT INTO events (class, code, state, campaign_id, message, date_closed, closed_by)
VALUES ('log', $1, 'closed', $2, $3, now(), $4);
