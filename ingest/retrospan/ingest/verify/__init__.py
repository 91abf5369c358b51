"""Reads what was stored again and compares it with what vouches for it: `retrospan verify`."""
