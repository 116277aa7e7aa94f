-- How long jobs live on each cluster before it kills them: histograms, and what its operator says.
SELECT k.id, l.killed, l.ended, k.observed_life_s
FROM clusters AS k LEFT JOIN cluster_lives AS l ON l.cluster_id = k.id
