"""`--param NAME=VALUE`: values for the `{NAME:Type}` of a statement, as people type them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from retrospan.ingest.cli.terminal.arguments import UsageError
from retrospan.schemas.store import Escaped

_PLACEHOLDER = re.compile(r"\{\s*(\w+)\s*:\s*(\w+)")
#: Types whose values are typed as literals of SQL, in which quotes and backslashes have their meaning already.
_LITERALS = frozenset({"Array", "Map", "Tuple", "Nested", "Point", "Ring", "Polygon", "MultiPolygon"})


def parameters_of(words: Sequence[str], sql: str, command: str) -> dict[str, str]:
    """Return the values of the `--param` of a command, by name, for this statement. Raises UsageError."""
    kinds = dict(_PLACEHOLDER.findall(sql))
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--param: '{word}' is not NAME=VALUE.", command)
        found[name] = Escaped(value) if kinds.get(name) in _LITERALS else value
    return found
