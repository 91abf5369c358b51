"""Rows of the views made into runs of a bundle, and what can be replayed of them. Nothing here asks anybody."""
