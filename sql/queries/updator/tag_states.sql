-- What became of the batches with these tags; a tag nobody intended is not listed.
SELECT tag, state::text FROM batches WHERE tag = ANY ($1::text[])
