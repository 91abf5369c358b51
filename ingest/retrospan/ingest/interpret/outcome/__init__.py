"""What a run came to: its answer, its failures, its agents."""
