"""A wheel whose interpretation is compiled: `make compiled`, and docs/decisions/0012-a-compiled-core-beside-the-pure-one.md."""
