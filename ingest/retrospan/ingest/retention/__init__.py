"""Retention: how long runs are kept, and how they are deleted without what other runs depend on."""
