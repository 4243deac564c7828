"""What everything stands on: errors, dtypes, scalar expressions with proofs, targets."""
