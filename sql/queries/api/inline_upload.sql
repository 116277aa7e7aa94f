-- Parameters that came in the JDL are kept like those that were uploaded.
INSERT INTO uploads (grid_user, blocks, lines, bytes, published)
VALUES ($1, $2, $3, $4, true)
RETURNING id;
