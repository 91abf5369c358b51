"""Runs as portable files: their form, the file, and when two requests are the same. Standard library only."""
