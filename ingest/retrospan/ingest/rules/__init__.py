"""Mutation rules: which tool calls change which entity, given by the user in a TOML file."""
