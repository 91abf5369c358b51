"""JSON text of an agent's values, fast for values that are JSON already, and within a limit of bytes.

The form of each type is in `forms`. A larger value keeps its shape: its largest parts are replaced by
`{"$cut": …}` with their size, their hash and their beginning, and the first cut of a process is logged.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from json import encoder as json_encoder
from typing import Any, cast

from retrospan.exporter.recording.forms import describe, opened, walked

#: The variable that sets how many bytes of JSON one value may have. A value is a state, the arguments of a tool …
LIMIT_VARIABLE = "RETROSPAN_VALUE_LIMIT_BYTES"
#: The default: what stock gRPC receivers take in one message.
DEFAULT_LIMIT_BYTES = 4 * 1024 * 1024
#: How much of a part that was cut is kept: characters.
KEPT_CHARACTERS = 1000

_LOG = logging.getLogger("retrospan.exporter")
_PLAIN = json.JSONEncoder(default=opened, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_ASCII = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def _limit_of(environ: Mapping[str, str]) -> int:
    said = environ.get(LIMIT_VARIABLE, "")
    if said.isdigit() and int(said) >= 1024:
        return int(said)
    if said:
        _LOG.warning(
            "%s=%s is not a whole number of at least 1024 bytes; %d is used",
            LIMIT_VARIABLE,
            said,
            DEFAULT_LIMIT_BYTES,
        )
    return DEFAULT_LIMIT_BYTES


class _Limit:
    """How many bytes of JSON one value may have, and whether a cut was logged already."""

    bytes = _limit_of(os.environ)
    said = False


def limit_values(limit_bytes: int) -> None:
    """Set how many bytes of JSON one recorded value may have; at least 1024. `RETROSPAN_VALUE_LIMIT_BYTES` does the same."""
    _Limit.bytes = max(limit_bytes, 1024)


def _compiled() -> Callable[[object], str]:
    """Return the encoder in C without its bookkeeping of cycles: twice as fast; a cycle ends in a RecursionError."""
    make: Callable[..., Any] | None = getattr(json_encoder, "c_make_encoder", None)
    if make is None:
        return _PLAIN
    encode = make(None, opened, json_encoder.encode_basestring, None, ":", ",", False, False, False)
    return lambda value: "".join(encode(value, 0))


_FAST = _compiled()


def json_text(value: object) -> str:
    """Return the JSON of any value, as text that UTF-8 can hold and no longer than the limit. Never raises."""
    try:
        text = _FAST(value)
    except Exception:  # noqa: BLE001 - a guest
        # NaN, a cycle, a key that is not text, a value that is too deep …: the slow way finds out which.
        text = _slow(value)
    if text.isascii():
        size = len(text)
    else:
        try:
            size = len(text.encode())
        except UnicodeEncodeError:  # half a character: escaped, it can travel
            text = _slow(value, ascii_only=True)
            size = len(text)
    return text if size <= _Limit.bytes else _cut(text, size)


def json_value(value: object) -> object:
    """Return a value as JSON values: what `json_text` of it reads back as, without the limit. Never raises."""
    try:
        return cast(object, json.loads(_FAST(value)))
    except Exception:  # noqa: BLE001 - a guest
        return walked(value)


def _slow(value: object, ascii_only: bool = False) -> str:
    plain = walked(value)
    try:
        return _ASCII(plain) if ascii_only else _FAST(plain)
    except Exception as error:  # noqa: BLE001 - a guest
        return _ASCII(describe(value, f"could not be written: {type(error).__name__}"))


def _cut(text: str, size: int) -> str:
    """Return the JSON with its largest parts replaced, within the limit; log this once."""
    if not _Limit.said:
        _Limit.said = True
        _LOG.warning(
            "a recorded value has %d bytes of JSON, more than %d: its largest parts are cut and marked $cut. "
            "Set %s to keep more; this is logged once",
            size,
            _Limit.bytes,
            LIMIT_VARIABLE,
        )
    value = cast(object, json.loads(text))
    cut = _ASCII(_shrunk(value, size - _Limit.bytes, 0))
    if len(cut) > _Limit.bytes:
        cut = _ASCII(_stub(value))
    return cut


def _shrunk(value: object, excess: int, depth: int) -> object:
    """Return a container without `excess` bytes of its largest parts; what is not a container as a stub."""
    if not isinstance(value, dict | list) or not value or depth > 8:
        return _stub(value)
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    sizes = {key: len(_ASCII(value[key])) for key in keys}
    shrunk = cast("dict[object, object]", dict(value) if isinstance(value, dict) else list(value))
    for key in sorted(keys, key=lambda key: -sizes[key]):
        if excess <= 0:
            break
        # One part that is most of the whole is opened; among many, the largest goes first.
        inner = (
            _shrunk(value[key], excess, depth + 1) if sizes[key] > excess + 2 * _STUB else _stub(value[key])
        )
        excess -= sizes[key] - len(_ASCII(inner))
        shrunk[key] = inner
    return shrunk


#: About what a stub takes.
_STUB = KEPT_CHARACTERS + 200


def _stub(value: object) -> object:
    text = _ASCII(value)
    if len(text) <= 200:
        return value
    start = value if isinstance(value, str) else text
    digest = sha256(text.encode()).hexdigest()[:32]
    return {"$cut": {"bytes": len(text), "sha256": digest, "start": start[:KEPT_CHARACTERS]}}
