"""An object in JSON of which the end was cut off: its members that stand whole before the cut.

Programs limit how long a value may be that they send, and the end of a long request is what matters least in it: the
definitions of tools, after all that was said. A member that is cut itself is not read: a part of a list of messages would
tell that nothing more was said.
"""

from __future__ import annotations

import json
import re

from retrospan.ingest.json_text import Unreadable, read_json

_KEY = re.compile(r'\s*("(?:[^"\\\x00-\x1f]|\\.)*")\s*:\s*')
_NEXT = re.compile(r"\s*([,}])")
_DECODER = json.JSONDecoder()


def whole_members(text: str) -> dict[str, object] | None:
    """Return the whole members of an object whose end is missing; None where nothing is missing, or nothing is whole."""
    if text[:1] != "{" or not isinstance(read_json(text), Unreadable):
        return None
    found: dict[str, object] = {}
    at = 1
    while key := _KEY.match(text, at):
        try:
            _, end = _DECODER.raw_decode(text, key.end())
        except (ValueError, RecursionError):
            return found or None
        after = _NEXT.match(text, end)
        if after is None:
            return found or None
        if after[1] == "}":
            return None  # it has its end, and something stands behind it
        value = read_json(text[key.end() : end])
        if isinstance(value, Unreadable):
            return None
        found[str(json.loads(key[1]))] = value
        at = after.end()
    return found or None
