"""What people and retention say of runs, as records of the log: receipts of deletions, flags, holds."""
