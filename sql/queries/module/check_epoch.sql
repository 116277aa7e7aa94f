-- Holds the epoch $1 for the rest of the transaction; no row: another almighty leads.
-- FOR SHARE and not KEY SHARE: a new leader's UPDATE of the epoch has to wait for us.
SELECT epoch FROM grid WHERE epoch = $1 FOR SHARE
