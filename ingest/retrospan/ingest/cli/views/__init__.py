"""Output shared by several commands: a step, a timeline, two sides of a difference."""
