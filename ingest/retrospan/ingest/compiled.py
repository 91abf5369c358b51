"""Whether this installation reads runs with compiled modules, as `make compiled` builds them, or with pure Python."""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec

#: The compiled modules are there together or not at all: one tells of all.
_ONE_OF_THEM = "retrospan.ingest.interpret.run"


def is_compiled() -> bool:
    """Tell whether the interpretation that would be imported is compiled; nothing of it is loaded."""
    found = find_spec(_ONE_OF_THEM)
    return found is not None and (found.origin or "").endswith(tuple(EXTENSION_SUFFIXES))
