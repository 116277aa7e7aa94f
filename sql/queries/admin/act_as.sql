-- Whom the history of rules names: $1, for this transaction.
SELECT set_config('cigri.user', $1, true)
