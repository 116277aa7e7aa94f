-- Up to where a feed has been folded: moved by the fold itself, so nothing is folded twice or never.
INSERT INTO cluster_status AS s (cluster_id, feed_token) VALUES ($1, $2)
ON CONFLICT (cluster_id) DO UPDATE SET feed_token = excluded.feed_token
