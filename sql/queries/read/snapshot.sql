-- Snapshot $1 as hexadecimal text, and the state that the newest decision has left.
SELECT encode(snapshot, 'hex') AS snapshot, (SELECT state FROM plan_state) AS state FROM plans WHERE id = $1;
