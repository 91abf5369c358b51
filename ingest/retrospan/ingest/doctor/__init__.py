"""What `retrospan doctor` checks: the machine, the settings, a running collector, or the directory of one."""
