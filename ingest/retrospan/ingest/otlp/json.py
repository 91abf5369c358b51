"""OTLP/JSON to OTLP/protobuf, as the OTLP specification reads JSON and not as generic protobuf JSON does.

Trace and span ids are hex in either case, names are lowerCamelCase, unknown names are ignored, 64-bit numbers may
be strings or numbers, enums are numbers (their names are understood too), `bytesValue` is base64. null is absent.

A span or log record that cannot be read is left out and reported, its siblings are kept. Text that is not Unicode
(a lone surrogate, bytes that are not UTF-8) is carried over as bytes rather than refused.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from retrospan.ingest.otlp.json_fields import Codec, Encoder, kind_of
from retrospan.ingest.otlp.json_stream import WINDOW, Large, Reader, skip
from retrospan.ingest.otlp.pieces import Tally
from retrospan.ingest.otlp.salvage import Faults, Salvaged
from retrospan.schemas.errors import BadRequest
from retrospan.schemas.wire import DELIMITED, delimited, varint

#: How text that is not Unicode becomes bytes: a lone surrogate written as an escape, or bytes that are not UTF-8.
_CODEC = Codec("surrogatepass")
_ESCAPED = Codec("surrogateescape")
#: Of the names that a request has instead of its own, so many are told, and so much of each.
_NAMED, _NAME_CHARACTERS = 3, 60


def traces_from_json(body: bytes) -> Salvaged:
    """Return a trace request in protobuf. Raises BadRequest when it is not JSON, or not shaped like a request."""
    codec = _codec(body)
    return _Conversion(codec, codec.span, _Names("span", "resourceSpans", "scopeSpans", "spans")).request(
        body
    )


def logs_from_json(body: bytes) -> Salvaged:
    """Return a log request in protobuf. Raises BadRequest when it is not JSON, or not shaped like a request."""
    codec = _codec(body)
    names = _Names("log record", "resourceLogs", "scopeLogs", "logRecords")
    return _Conversion(codec, codec.log, names).request(body)


def _codec(body: bytes) -> Codec:
    if body.isascii():
        return _CODEC
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(body), WINDOW):
            decoder.decode(body[start : start + WINDOW])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return _ESCAPED
    return _CODEC


class _Names(NamedTuple):
    noun: str
    groups: str
    scopes: str
    members: str


@dataclass(slots=True)
class _Part:
    """What some of a request became: its bytes, how many members that is, and what was left out."""

    body: bytearray = field(default_factory=bytearray)
    kept: int = 0
    faults: Faults = field(default_factory=Faults)

    def add(self, number: int, header: bytes, inner: _Part, url: bytes) -> None:
        """Take up a group that is complete: a resource's or a scope's, which have the same field numbers."""
        self.body += varint(number << 3 | DELIMITED)
        self.body += varint(len(header) + len(inner.body) + len(url))
        self.body += header
        self.body += inner.body
        self.body += url
        self.kept += inner.kept
        for reason, count in inner.faults.counts.items():
            self.faults.add(reason, inner.faults.samples[reason], count)

    def without_members(self, reason: str) -> _Part:
        """Return the same when what its members share cannot be read."""
        lost = _Part()
        if members := self.kept + self.faults.total:
            lost.faults.add(reason, next(iter(self.faults.samples.values()), b""), members)
        return lost


class _Conversion:
    """One request on its way from JSON to protobuf."""

    def __init__(self, codec: Codec, encode: Encoder, names: _Names) -> None:
        self._codec = codec
        self._encode = encode
        self._names = names
        self._tally = Tally()

    def request(self, body: bytes) -> Salvaged:
        reader = Reader(body, self._codec.errors_of_bytes, self._tally)
        document = reader.document()
        if not (isinstance(document, Large) and document.kind == "{"):
            raise BadRequest("the JSON is not an object; an OTLP request is one")
        found: _Part | None = None
        others: list[str] = []
        for name, value in document.items(opened=self._names.groups):
            if name == self._names.groups:
                found = self._groups(value)
            else:
                if len(others) < _NAMED:
                    others.append(repr(name[:_NAME_CHARACTERS]))
                skip(value)
        reader.end()
        warning = ""
        if found is None and others:
            warning = (
                f"nothing was stored: the request has no '{self._names.groups}', and of {', '.join(others)} nothing is "
                "collected here. JSON of traces has 'resourceSpans' and goes to /v1/traces, of logs 'resourceLogs' "
                "and /v1/logs"
            )
        found = found or _Part()
        return Salvaged(bytes(found.body) if found.kept else b"", found.kept, found.faults, warning)

    def _groups(self, value: object) -> _Part:
        made = _Part()
        for group in _objects(value, self._names.groups):
            self._tally.take_group()
            header: bytes | str = b""
            inner, url = _Part(), b""
            for name, item in group.items(opened=self._names.scopes):
                if name == "resource":
                    header = _header(self._codec.resource, item)
                elif name == self._names.scopes:
                    inner = self._scopes(item)
                elif name == "schemaUrl":
                    url = _url(item)
                else:
                    skip(item)
            if isinstance(header, str):
                inner = inner.without_members(f"{self._names.noun} cannot be read: resource: {header}")
            made.add(1, header if isinstance(header, bytes) else b"", inner, url)
        return made

    def _scopes(self, value: object) -> _Part:
        made = _Part()
        for scope in _objects(value, self._names.scopes):
            self._tally.take_group()
            header: bytes | str = b""
            inner, url = _Part(), b""
            for name, item in scope.items(opened=self._names.members):
                if name == "scope":
                    header = _header(self._codec.scope, item)
                elif name == self._names.members:
                    inner = self._members(item)
                elif name == "schemaUrl":
                    url = _url(item)
                else:
                    skip(item)
            if isinstance(header, str):
                inner = inner.without_members(f"{self._names.noun} cannot be read: scope: {header}")
            made.add(2, header if isinstance(header, bytes) else b"", inner, url)
        return made

    def _members(self, value: object) -> _Part:
        made = _Part()
        for member in _elements(value, self._names.members):
            content = _attempt(self._encode, member)
            if isinstance(content, str):
                made.faults.add(f"{self._names.noun} cannot be read: {content}", _sample(member))
            else:
                made.body += b"\x12"
                made.body += varint(len(content))
                made.body += content
                made.kept += 1
        return made


def _header(encode: Encoder, value: object) -> bytes | str:
    """Return what the members of a group share, as its field; '' where it is absent, or why it cannot be read."""
    content = b"" if value is None else _attempt(encode, value)
    return content if isinstance(content, str) or value is None else delimited(1, content)


def _attempt(encode: Encoder, value: object) -> bytes | str:
    """Return the encoded message, or why it cannot be."""
    try:
        return encode(value)
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError as cause:
        reason = str(cause)
    skip(value)
    return reason


def _url(value: object) -> bytes:
    if isinstance(value, str):
        return delimited(3, value.encode(errors="surrogatepass"))
    skip(value)
    return b""


def _objects(value: object, name: str) -> Iterator[Large]:
    for each in _elements(value, name, opened=True):
        if not (isinstance(each, Large) and each.kind == "{"):
            raise BadRequest(f"{name} holds {kind_of(each)} instead of an object")
        yield each


def _elements(value: object, name: str, *, opened: bool = False) -> Iterator[object]:
    if isinstance(value, Large) and value.kind == "[":
        return value.elements(opened=opened)
    if value is not None:
        raise BadRequest(f"{name} is {kind_of(value)} instead of a list")
    return iter(())


def _sample(member: object) -> bytes:
    try:
        return b"" if isinstance(member, Large) else json.dumps(member).encode()
    except (RecursionError, ValueError):
        return b""
