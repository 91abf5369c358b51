"""Statements rewritten so that the engine reads less for the same rows, or shows the views and not the tables. Pure."""
