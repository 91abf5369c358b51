"""Decisions of people and of retention about runs, as records of the log: receipts of deletions, flags, holds."""
