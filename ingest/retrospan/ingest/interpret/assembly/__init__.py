"""From normalized spans to a run: which spans are one, their tree, calls, steps, states, failures, outcome."""
