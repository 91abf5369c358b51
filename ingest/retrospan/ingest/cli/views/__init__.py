"""What several commands draw: a step, a timeline, two sides of a difference."""
