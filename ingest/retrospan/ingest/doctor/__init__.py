"""What `retrospan doctor` looks at: the machine, the settings, a running collector, or the directory of one."""
