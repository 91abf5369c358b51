"""How long which runs are kept: the policy, its ages and classes, and what is due by it."""
