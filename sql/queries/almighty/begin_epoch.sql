-- The new leader $1: from now on nothing claimed or folded under an older epoch can commit.
UPDATE grid SET epoch = epoch + 1, leader = $1, leading_since = now() RETURNING epoch
