"""Who may send and ask: tokens and their rights, tenants, quotas, turns, TLS."""
