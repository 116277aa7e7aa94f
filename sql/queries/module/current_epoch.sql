-- The epoch of whoever leads, for a module that was started by hand.
SELECT epoch FROM grid
