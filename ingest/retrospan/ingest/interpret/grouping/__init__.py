"""Which traces are one run."""
