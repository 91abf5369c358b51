"""Headers that go with each request: only what can go over the wire. A value may be a secret, so none is ever repeated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

_HTTP_NAME, _GRPC_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"), re.compile(r"[0-9a-z_.-]+")
_HTTP_UNFIT, _GRPC_UNFIT = re.compile(r"[^\t\x20-\x7e\x80-\xff]"), re.compile(r"[^\x20-\x7e]")
#: What OpenTelemetry takes for URL-encoded; anything else stands for itself.
_ENCODED = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*")


def fit_value(value: object, protocol: str) -> str:
    """Return a value without the blanks and line ends around it. Raises ValueError, without the value, where a
    character of it cannot be sent."""
    text = str(value).strip()
    found = (_GRPC_UNFIT if protocol == "grpc" else _HTTP_UNFIT).search(text)
    if found is not None:
        raise ValueError(
            f"character {found.start() + 1} of {len(text)}, U+{ord(found[0]):04X}, cannot be sent in a header"
        )
    return text


def fit_name(name: object, protocol: str) -> str:
    """Return a name in lower case. Raises ValueError."""
    text = str(name).strip().lower()
    if not (_GRPC_NAME if protocol == "grpc" else _HTTP_NAME).fullmatch(text):
        raise ValueError("its name cannot be that of a header")
    return text


def entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of a variable: `name=value`, separated by commas, URL-encoded or not. The name is '' where
    an entry has none."""
    for entry in text.split(","):
        name, equals, value = (part.strip() for part in entry.strip().partition("="))
        if not name and not equals:
            continue
        encoded = _ENCODED.fullmatch(value) is not None
        yield (unquote(name) if equals else ""), (unquote(value) if encoded else value)
