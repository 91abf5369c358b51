"""Export requests by size: what is encoded already is put together, and a request can be taken apart again.

ExportTraceServiceRequest {1 ResourceSpans {1 resource, 2 ScopeSpans {1 scope, 2 span, 3 schema}, 3 schema}}
ExportLogsServiceRequest {1 ResourceLogs {1 resource, 2 ScopeLogs {1 scope, 2 log record, 3 schema}, 3 schema}}

The two differ in the names alone. A part here is a span or a log record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from retrospan.exporter.delivery.records import Signal
from retrospan.schemas.redaction.walk import fields
from retrospan.schemas.wire import delimited, heading

#: What tags and lengths around a part, a scope or a resource take at most.
_AROUND = 12

#: By resource and by scope, with their schema URLs: the parts, each behind its heading.
_Groups: TypeAlias = dict[tuple[bytes, bytes], dict[tuple[bytes, bytes], list[bytes]]]


@dataclass(frozen=True, slots=True)
class Origin:
    """What a part comes from, encoded: its resource and its scope, with their schema URLs."""

    resource: bytes
    resource_schema: bytes
    scope: bytes
    scope_schema: bytes

    @property
    def size(self) -> int:
        return (
            len(self.resource)
            + len(self.resource_schema)
            + len(self.scope)
            + len(self.scope_schema)
            + 4 * _AROUND
        )


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """The bytes of a request, how many parts it holds, and which."""

    body: bytes
    parts: int
    signal: Signal = Signal.TRACES


class Packer:
    """Fills requests of one signal up to a size. A part beyond it travels alone."""

    def __init__(self, most_bytes: int, signal: Signal = Signal.TRACES) -> None:
        self._most = most_bytes
        self._signal = signal
        self._groups: _Groups = {}
        self._parts = self._size = 0
        self._origins: set[Origin] = set()

    def add(self, origin: Origin, part: bytes) -> ExportRequest | None:
        """Take a part; return the request that it no longer fitted into."""
        size = len(part) + _AROUND
        if origin not in self._origins:
            size += origin.size
        full = self.close() if self._parts and self._size + size > self._most else None
        if full is not None:
            size = len(part) + _AROUND + origin.size
        self._origins.add(origin)
        _place(self._groups, origin, part)
        self._parts += 1
        self._size += size
        return full

    def close(self) -> ExportRequest | None:
        """Return what is left, if anything."""
        if not self._parts:
            return None
        request = ExportRequest(_request(self._groups), self._parts, self._signal)
        self._groups, self._parts, self._size, self._origins = {}, 0, 0, set()
        return request


def joined(parts: Iterable[tuple[Origin, bytes]]) -> bytes:
    """Return a request of these parts, in their order as far as resources and scopes allow."""
    groups: _Groups = {}
    for origin, part in parts:
        _place(groups, origin, part)
    return _request(groups)


def _place(groups: _Groups, origin: Origin, part: bytes) -> None:
    scopes = groups.setdefault((origin.resource, origin.resource_schema), {})
    members = scopes.setdefault((origin.scope, origin.scope_schema), [])
    members += (heading(2, len(part)), part)


def _request(groups: _Groups) -> bytes:
    """Return the bytes, each copied once, and without a line of Python for each part: nothing else runs meanwhile."""
    pieces: list[bytes] = []
    for (resource, resource_schema), scopes in groups.items():
        group = [delimited(1, resource)]
        for (scope, scope_schema), members in scopes.items():
            schema = delimited(3, scope_schema) if scope_schema else b""
            group += _message(2, [delimited(1, scope), *members, schema])
        group.append(delimited(3, resource_schema) if resource_schema else b"")
        pieces += _message(1, group)
    return b"".join(pieces)


def taken_apart(body: bytes) -> Iterator[tuple[Origin, bytes]]:
    """Yield the parts of a request. Raises ValueError where the bytes are not a request."""
    for group in fields(body):
        resource, resource_schema = _one(group.content, 1), _one(group.content, 3)
        for scope in fields(group.content):
            if scope.number != 2:
                continue
            origin = Origin(resource, resource_schema, _one(scope.content, 1), _one(scope.content, 3))
            for part in fields(scope.content):
                if part.number == 2:
                    yield origin, part.content


def halves(body: bytes) -> list[bytes]:
    """Return the request as two, or as itself where it holds a single part."""
    parts = list(taken_apart(body))
    if len(parts) < 2:
        return [body]
    middle = len(parts) // 2
    return [joined(parts[:middle]), joined(parts[middle:])]


def _message(field: int, pieces: list[bytes]) -> list[bytes]:
    return [heading(field, sum(map(len, pieces))), *pieces]


def _one(message: bytes, number: int) -> bytes:
    return next((each.content for each in fields(message) if each.number == number), b"")
