"""Messages inside a state, whatever framework wrote them, as lines that people read."""

from __future__ import annotations

from retrospan.ingest.cli.terminal.values import message_text, parse
from retrospan.ingest.interpret.messages.messages import read_message

#: Types of parts, of a message or of instructions: a part alone is not a message, for nobody is known to have said it.
_PARTS = ("text", "reasoning")


def as_dialogue(value: str | None) -> list[tuple[str, str]] | None:
    """Return (role, what it says) of each message when a JSON value is a list of messages, else None."""
    items = parse(value) if value is not None else None
    if not isinstance(items, list) or not items:
        return None
    said: list[tuple[str, str]] = []
    for item in items:
        message = read_message(item) if isinstance(item, dict) and _is_message(item) else None
        if message is None:
            return None
        said.append((str(message["role"]), message_text(message)))
    return said


def _is_message(item: dict[str, object]) -> bool:
    return (
        "role" in item
        or any(isinstance(item.get(key), dict) for key in ("data", "kwargs"))
        or ("content" in item and "type" in item and item["type"] not in _PARTS)
    )
