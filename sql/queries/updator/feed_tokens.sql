SELECT cluster_id, feed_token FROM cluster_status WHERE feed_token IS NOT NULL
