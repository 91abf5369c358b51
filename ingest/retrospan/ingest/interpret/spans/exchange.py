"""A model request and its response that a span holds key by key: `x.messages`, `x.tools`, `x.choices`, `x.usage`."""

from __future__ import annotations

from collections.abc import Mapping

from retrospan.ingest.interpret.spans.pyrepr import read_repr
from retrospan.ingest.json_text import Unreadable, read_value

_REQUESTS = ("messages", "contents")
_RESPONSES = ("choices", "candidates")


def exchange_of(attributes: Mapping[str, object]) -> dict[str, object] | None:
    """Return the request and the response in one object, where both lie under one prefix; values are read.

    Known by its shape: the names are those of the fields that model APIs have, whatever stands before them.
    """
    for key in attributes:
        prefix, _, last = key.rpartition(".")
        if last in _REQUESTS and any(f"{prefix}.{name}" in attributes for name in _RESPONSES):
            return {
                key[len(prefix) + 1 :]: _read(value)
                for key, value in attributes.items()
                if key.startswith(f"{prefix}.")
            }
    return None


def _read(value: object) -> object:
    read = read_value(value)
    if isinstance(read, str) and read[:1] in ("[", "{"):
        printed = read_repr(read)
        return read if isinstance(printed, Unreadable) else printed
    return read
