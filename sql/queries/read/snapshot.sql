-- The snapshot of decision $1 as hexadecimal text.
SELECT encode(snapshot, 'hex') FROM plans WHERE id = $1;
