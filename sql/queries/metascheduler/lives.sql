-- How long jobs of ours live on each cluster before it kills them, as histograms.
SELECT cluster_id, killed, ended FROM cluster_lives
