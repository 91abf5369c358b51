"""OTLP/JSON to OTLP/protobuf, as the OTLP specification reads JSON and not as generic protobuf JSON does.

Trace and span ids are hex in either case, names are lowerCamelCase, unknown names are ignored, 64-bit numbers may
be strings or numbers, enums are numbers (their names are understood too), `bytesValue` is base64. null is absent.

A span or log record that cannot be read is left out and reported, its siblings are kept. Text that is no Unicode
(a lone surrogate, bytes that are no UTF-8) is carried over as bytes rather than refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from retrospan.ingest.otlp.json_fields import Codec, Encoder, kind_of
from retrospan.ingest.otlp.split import Faults, Salvaged
from retrospan.schemas.errors import BadRequest
from retrospan.schemas.wire import delimited

# How text that is no Unicode becomes bytes: a lone surrogate written as an escape, or bytes that are no UTF-8.
_CODEC = Codec("surrogatepass")
_ESCAPED = Codec("surrogateescape")


def traces_from_json(body: bytes) -> Salvaged:
    """A trace request in protobuf. Raises BadRequest when it is no JSON, or not shaped like a request."""
    document, codec = _load(body)
    return _convert(document, codec.span, codec, "span", ("resourceSpans", "scopeSpans", "spans"))


def logs_from_json(body: bytes) -> Salvaged:
    """A log request in protobuf. Raises BadRequest when it is no JSON, or not shaped like a request."""
    document, codec = _load(body)
    return _convert(document, codec.log, codec, "log record", ("resourceLogs", "scopeLogs", "logRecords"))


def _load(body: bytes) -> tuple[dict[str, object], Codec]:
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        text, codec = body.decode(), _CODEC
    except UnicodeDecodeError:
        text, codec = body.decode(errors="surrogateescape"), _ESCAPED
    try:
        document: object = json.loads(text)
    except RecursionError as cause:
        raise BadRequest("the JSON is nested too deeply to be read") from cause
    except ValueError as cause:
        raise BadRequest(f"the body is no JSON: {cause}") from cause
    if not isinstance(document, dict):
        raise BadRequest("the JSON is no object; an OTLP request is one")
    return document, codec


def _convert(
    document: dict[str, object], encode: Encoder, codec: Codec, noun: str, names: tuple[str, str, str]
) -> Salvaged:
    faults = Faults()
    kept = 0
    groups: list[bytes] = []
    for group in _objects(document, names[0]):
        resource = _header(codec.resource, group.get("resource"))
        scopes: list[bytes] = []
        for scope in _objects(group, names[1]):
            header = _header(codec.scope, scope.get("scope"))
            members: list[bytes] = []
            for member in _members(scope, names[2]):
                if isinstance(resource, str):
                    content: bytes | str = f"resource: {resource}"
                else:
                    content = f"scope: {header}" if isinstance(header, str) else _attempt(encode, member)
                if isinstance(content, str):
                    faults.add(f"{noun} cannot be read: {content}", _sample(member))
                else:
                    members.append(delimited(2, content))
            kept += len(members)
            scopes.append(delimited(2, _group(header, members, scope)))
        groups.append(delimited(1, _group(resource, scopes, group)))
    return Salvaged(b"".join(groups) if kept else b"", kept, faults)


def _group(header: bytes | str, members: list[bytes], source: dict[str, object]) -> bytes:
    """A resource's or a scope's group: the two have the same field numbers."""
    first = header if isinstance(header, bytes) else b""
    url = source.get("schemaUrl")
    last = delimited(3, url.encode(errors="surrogatepass")) if isinstance(url, str) else b""
    return first + b"".join(members) + last


def _header(encode: Encoder, value: object) -> bytes | str:
    """What the members of a group share, as its field; '' where it is absent, or why it cannot be read."""
    content = b"" if value is None else _attempt(encode, value)
    return content if isinstance(content, str) or value is None else delimited(1, content)


def _attempt(encode: Encoder, value: object) -> bytes | str:
    """The encoded message, or why it cannot be."""
    try:
        return encode(value)
    except RecursionError:
        return "it is nested too deeply"
    except ValueError as cause:
        return str(cause)


def _objects(source: dict[str, object], name: str) -> Iterator[dict[str, object]]:
    for each in _members(source, name):
        if not isinstance(each, dict):
            raise BadRequest(f"{name} holds {kind_of(each)} where an object belongs")
        yield each


def _members(source: dict[str, object], name: str) -> list[object]:
    value = source.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadRequest(f"{name} is {kind_of(value)} where a list belongs")
    return value


def _sample(member: object) -> bytes:
    try:
        return json.dumps(member).encode()
    except (RecursionError, ValueError):
        return b""
