"""Ids of calls that a client made longer: before the id that the model gave stands the name of the tool."""

from __future__ import annotations

import re

#: What programs make up as ids of their own.
UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
#: What stands between the name of a tool and the id of its call.
_MARKS = re.compile(r"__|::|[:/|]")
#: Shorter ones, and those with fewer digits, are numbers in a row or words, which come again.
_SHORTEST, _FEWEST_DIGITS = 12, 3
_DIGITS = re.compile(r"\d")


def given_id(call_id: str, tool_name: str | None) -> str:
    """Return the id of a call without the name of its tool; as it is, where nothing is left that could be an id."""
    if not tool_name or not call_id.startswith(tool_name):
        return call_id
    rest = call_id[len(tool_name) :]
    mark = _MARKS.match(rest)
    plain = rest[mark.end() :] if mark is not None else ""
    return plain if is_unique(plain) else call_id


def is_unique(call_id: str) -> bool:
    """Tell whether an id looks as if no other call had it: it is long, and has digits enough."""
    return len(call_id) >= _SHORTEST and len(_DIGITS.findall(call_id)) >= _FEWEST_DIGITS
