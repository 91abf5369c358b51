"""JSON text of an agent's values, fast for values that are JSON already, and within a limit of bytes.

The form of each type is in `forms`. A larger value keeps its shape: its largest parts are replaced by
`{"$cut": …}` with their size, their hash and their beginning, and the first cut of a process is logged. A part
that is beyond the limit by itself is not even written: it has neither hash nor beginning, and about its size.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from json import encoder as json_encoder
from typing import Any, cast

from retrospan.exporter.delivery.notices import say
from retrospan.exporter.recording.forms import describe, opened, walked
from retrospan.exporter.recording.sizes import Sizes, TooLarge, most_of

#: The variable that sets how many bytes of JSON one value may have. A value is a state, the arguments of a tool …
LIMIT_VARIABLE = "RETROSPAN_VALUE_LIMIT_BYTES"
#: The default: what stock gRPC receivers take in one message.
DEFAULT_LIMIT_BYTES = 4 * 1024 * 1024
#: How much of a part that was cut is kept: characters.
KEPT_CHARACTERS = 1000

#: How many times the limit a value may have that is only compared.
_COMPARED = 16
#: How many times as much as the limit objects may seem to have before they are measured.
_LOOSELY = 4
_ASCII = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
_WIDE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _limit_of(environ: Mapping[str, str]) -> int:
    said = environ.get(LIMIT_VARIABLE, "")
    if said.isdigit() and int(said) >= 1024:
        return int(said)
    if said:
        say(
            f"{LIMIT_VARIABLE}={said} is not a whole number of at least 1024 bytes; {DEFAULT_LIMIT_BYTES} is used."
        )
    return DEFAULT_LIMIT_BYTES


class _Limit:
    """How many bytes of JSON one value may have, and whether a cut was logged already."""

    bytes = _limit_of(os.environ)
    said = False


def limit_values(limit_bytes: int) -> None:
    """Set how many bytes of JSON one recorded value may have; at least 1024. `RETROSPAN_VALUE_LIMIT_BYTES` does the
    same.
    """
    _Limit.bytes = max(limit_bytes, 1024)


#: The encoder in C, without its bookkeeping of cycles: twice as fast; a cycle ends in a RecursionError.
_MAKE: Callable[..., Any] | None = getattr(json_encoder, "c_make_encoder", None)


def _fast(value: object, most: int) -> str:
    """Return the JSON of a value. Raises TooLarge before much more than so many characters are written, and whatever
    the encoder raises."""
    if most_of(value, most) > most and Sizes().of(value) > most:
        raise TooLarge
    left = _LOOSELY * _Limit.bytes

    def near(held: object) -> object:
        nonlocal left
        found = opened(held)
        left -= most_of(found, left)
        if left < 0:
            raise TooLarge
        return found

    if _MAKE is None:
        return json.JSONEncoder(
            default=near, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode(value)
    encode = _MAKE(None, near, json_encoder.encode_basestring, None, ":", ",", False, False, False)
    return "".join(encode(value, 0))


def json_text(value: object) -> str:
    """Return the JSON of any value, as text that UTF-8 can hold and no longer than the limit. Never raises."""
    most = _Limit.bytes
    try:
        text = _fast(value, most)
    except Exception:  # noqa: BLE001 - a guest
        # Too large, NaN, a cycle, a key that is not text, a value that is too deep …: the slow way finds out which.
        value = _lessened(value, most)
        text = _text(value, most)
    if text.isascii():
        size = len(text)
    else:
        try:
            size = len(text.encode())
        except UnicodeEncodeError:  # half a character: escaped, it can travel
            text = _slow(value, ascii_only=True)
            size = len(text)
    return text if size <= _Limit.bytes else _cut(text, size)


def _text(value: object, most: int) -> str:
    try:
        return _fast(value, most)
    except Exception:  # noqa: BLE001 - a guest
        return _slow(value)


def json_value(value: object) -> object:
    """Return a value as JSON values: what `json_text` of it reads back as, without the limit. Never raises."""
    try:
        return cast(object, json.loads(_fast(value, _COMPARED * _Limit.bytes)))
    except Exception:  # noqa: BLE001 - a guest
        return walked(_lessened(value, _COMPARED * _Limit.bytes))


def _slow(value: object, ascii_only: bool = False) -> str:
    plain = walked(value)
    try:
        return _ASCII(plain) if ascii_only else _WIDE(plain)
    except Exception as error:  # noqa: BLE001 - a guest
        return _ASCII(describe(value, f"could not be written: {type(error).__name__}"))


def _cut(text: str, size: int) -> str:
    """Return the JSON with its largest parts replaced, within the limit; log this once."""
    _say_cut(size)
    value = cast(object, json.loads(text))
    cut = _ASCII(_shrunk(value, size - _Limit.bytes, 0))
    if len(cut) > _Limit.bytes:
        cut = _ASCII(_stub(value))
    return cut


def _say_cut(size: int) -> None:
    if not _Limit.said:
        _Limit.said = True
        say(
            f"a recorded value has {size} bytes of JSON, more than {_Limit.bytes}: its largest parts are cut and marked "
            f"$cut. Set {LIMIT_VARIABLE} to keep more; this is logged once."
        )


def _lessened(value: object, most: int) -> object:
    """Return a value whose JSON would be larger than `most` without its largest parts, nothing of which is written; any
    other as it is."""
    try:
        sizes = Sizes(opened)
        size = sizes.of(value)
        if size <= most:
            return value
        _say_cut(min(size, 1 << 63))
        # Half of it: this is a measure, and what is just too large is cut once more.
        return _without(value, size - most // 2, sizes, [_Limit.bytes, _COMPARED * _Limit.bytes], 0)
    except Exception as error:  # noqa: BLE001 - a guest
        return describe(value, f"could not be measured: {type(error).__name__}")


def _without(value: object, excess: int, sizes: Sizes, written: list[int], depth: int) -> object:
    """Return a container without about `excess` bytes of its largest parts, as `_shrunk` does with what was written. What
    is cut is written once, for its hash, as long as `written` allows for containers and for texts."""
    size, near = sizes.of(value), sizes.near(value)
    if size <= _STUB:
        return near
    if isinstance(near, dict | list | tuple) and depth <= _DEEPEST_CUT and len(near) * 25 < _Limit.bytes:
        kept = cast("dict[object, object]", dict(near) if isinstance(near, dict) else list(near))
        keys = list(near) if isinstance(near, dict) else list(range(len(near)))
        for key in sorted(keys, key=lambda key: -sizes.of(kept[key])):
            if excess <= 0:
                return kept
            part = kept[key]
            opens = sizes.of(part) > excess + 2 * _STUB
            kept[key] = _without(part, excess, sizes, written, depth + 1 if opens else _DEEPEST_CUT + 1)
            excess -= sizes.of(part) - sizes.of(kept[key])
        if excess <= 0:
            return kept
    which = isinstance(near, str)
    if size > written[which]:
        return {"$cut": {"bytes": min(size, 1 << 63)}}
    written[which] -= size
    return _stub(near if which else json_value(near))


def _shrunk(value: object, excess: int, depth: int) -> object:
    """Return a container without `excess` bytes of its largest parts; what is not a container as a stub."""
    if not isinstance(value, dict | list) or not value or depth > _DEEPEST_CUT:
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


#: How deep a value is looked into for its largest parts.
_DEEPEST_CUT = 8
#: About what a stub takes.
_STUB = KEPT_CHARACTERS + 200


def _stub(value: object) -> object:
    text = _ASCII(value)
    if len(text) <= 200:
        return value
    start = value if isinstance(value, str) else text
    digest = sha256(text.encode()).hexdigest()[:32]
    return {"$cut": {"bytes": len(text), "sha256": digest, "start": start[:KEPT_CHARACTERS]}}
