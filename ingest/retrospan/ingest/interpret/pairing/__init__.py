"""Executions of tools, paired with the calls that asked for them."""
