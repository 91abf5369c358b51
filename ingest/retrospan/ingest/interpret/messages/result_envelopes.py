"""Results that a program keeps in an envelope: text blocks in a list, beside what it notes of them and of how it went.

By its form alone an envelope may as well be what the tool returned: the run says which it is
(`pairing/enveloped_results.py`).
"""

from __future__ import annotations

from retrospan.ingest.json_text import read_value

_TEXTS = ("text", "output_text", "input_text")
#: Under which names an envelope says how it went, and how it says that the tool failed.
_ENDED = ("state", "status", "outcome")
_FAILED = ("error", "failed", "failure")
_ERROR_MARKS = ("is_error", "isError")
#: Not None, which a text may say.
NOTHING = object()


def said_in(result: object) -> object:
    """Return what the text blocks of an envelope say, as JSON where the text is JSON; `NOTHING` where it is another object.

    What else is in a block, as an id or a time, the program keeps for itself.
    """
    if not isinstance(result, dict):
        return NOTHING
    listed = [value for value in result.values() if isinstance(value, list) and value]
    if len(listed) != 1 or not all(map(_is_text_block, listed[0])):
        return NOTHING
    return read_value("".join(block["text"] for block in listed[0]))


def tells_failure(envelope: dict[str, object]) -> bool:
    """Tell whether an envelope says that the tool failed."""
    return any(envelope.get(key) is True for key in _ERROR_MARKS) or any(
        isinstance(ended := envelope.get(key), str) and ended.lower() in _FAILED for key in _ENDED
    )


def _is_text_block(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in _TEXTS and isinstance(block.get("text"), str)
