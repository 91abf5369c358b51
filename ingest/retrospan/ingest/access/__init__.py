"""Who may send and query: tokens and their rights, tenants, quotas, turns, TLS."""
