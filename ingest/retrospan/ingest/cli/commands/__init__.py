"""One module per command: its help, its flags, and `run`."""
