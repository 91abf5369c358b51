"""The steps of a run, the state before and after each, and the values in them."""
