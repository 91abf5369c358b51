"""A run as canonical rows. `rows.Rows` is the entry."""
