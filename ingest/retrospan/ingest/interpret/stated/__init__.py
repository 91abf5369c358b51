"""What agents state themselves: entities, uses, decisions, effects, checkpoints, approvals, compactions."""
