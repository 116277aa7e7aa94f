-- A new draft of user $1, unless there are $2 already: drafts are space that nobody has asked for yet.
INSERT INTO uploads (grid_user)
SELECT $1
WHERE (SELECT count(*) FROM uploads WHERE grid_user = $1 AND NOT published) < $2
RETURNING id;
