"""Measures a collector against the least that its work can cost on the same machine: `make bench`."""
