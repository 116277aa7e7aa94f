-- An admission rule ($1) does not run: $2. One event for each rule.
INSERT INTO events AS e (class, code, fingerprint, message) VALUES ('cluster', 'RULE_BROKEN', $1, $2)
ON CONFLICT (code, coalesce(campaign_id, 0), coalesce(cluster_id, 0), fingerprint) WHERE state = 'open'
DO UPDATE SET count = e.count + 1, date_update = now(), message = excluded.message
