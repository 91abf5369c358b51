"""Messages whose speaker is the name of what is said: `{"user": "Hi"}`, as JSON or as Python prints it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from retrospan.ingest.interpret.spans.pyrepr import read_repr
from retrospan.ingest.json_text import read_value

#: Who speaks, where that is the name of what is said; and what may stand beside a model's words.
_SPEAKERS = ("system", "user", "human", "assistant", "ai", "tool", "model")
_BESIDE = ("tools", "tool_calls")
#: How such a message begins that Python printed.
_PRINTED = re.compile(rf"\{{['\"](?:{'|'.join(_SPEAKERS)})['\"]: .*\}}\Z", re.DOTALL)


def named_speaker(message: Mapping[str, object]) -> str | None:
    """Return who speaks in a message whose only text stands under the name of the speaker, as `{"user": "Hi"}`; it may be
    blocks of an API, a model's may be its calls, or have them beside it. None of any other object."""
    named = [key for key in message if key not in _BESIDE]
    if len(named) != 1 or named[0] not in _SPEAKERS:
        return None
    said = message[named[0]]
    if named[0] == "model" and not (isinstance(said, str) and " " in said.strip()):
        return None  # the name of a model
    if not isinstance(said, str) and named[0] not in ("assistant", "ai") and not _are_blocks(said):
        return None
    return named[0] if len(message) == 1 or named[0] in ("assistant", "ai") else None


def _are_blocks(said: object) -> bool:
    return (
        isinstance(said, list)
        and bool(said)
        and all(isinstance(each, dict) and isinstance(each.get("type"), str) for each in said)
    )


def read_spoken(texts: Sequence[object]) -> list[object]:
    """Return the objects that some texts hold as JSON, also those that Python printed in between; anything else as it is."""
    return [_printed(value) if isinstance(value, str) else value for value in map(read_value, texts)]


def are_spoken(texts: Sequence[object]) -> bool:
    """Tell whether a list holds nothing but the texts of such messages, of which Python printed some."""
    is_printed = False
    for text in texts:
        if not isinstance(text, str) or text[:2] not in ('{"', "{'"):
            return False
        is_printed = is_printed or _PRINTED.match(text) is not None
    return is_printed and all(
        isinstance(each, dict) and named_speaker(each) is not None for each in read_spoken(texts)
    )


def _printed(text: str) -> object:
    found = read_repr(text) if _PRINTED.match(text) else text
    return found if isinstance(found, dict) else text
