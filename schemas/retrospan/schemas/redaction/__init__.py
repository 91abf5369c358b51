"""What to take out of text and how it is found: rules by key and by pattern. Standard library only."""
