"""Mutation rules: which tool calls change which entity, said by the user in a TOML file."""
