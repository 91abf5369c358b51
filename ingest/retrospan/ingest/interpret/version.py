"""Which version of the interpretation read a run."""

from __future__ import annotations

from retrospan.ingest.rules.ruleset import Ruleset

#: Changes whenever the same spans may give other rows: rows say which version read them.
VERSION = "46"


def version_with(rules: Ruleset) -> str:
    """Return what rows call the version that read them: the interpretation's, and the hash of the mutation rules."""
    return f"{VERSION}+rules.{rules.hash}" if rules.hash else VERSION
