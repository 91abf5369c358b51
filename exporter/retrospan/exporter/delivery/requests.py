"""Export requests by size: spans that are encoded already are put together, and a request can be taken apart again.

ExportTraceServiceRequest {1 ResourceSpans {1 resource, 2 ScopeSpans {1 scope, 2 span, 3 schema}, 3 schema}}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from retrospan.schemas.redaction.walk import fields
from retrospan.schemas.wire import delimited

#: What tags and lengths around a span, a scope or a resource take at most.
_AROUND = 12


@dataclass(frozen=True, slots=True)
class Origin:
    """What a span comes from, encoded: its resource and its scope, with their schema URLs."""

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
    """The bytes of an ExportTraceServiceRequest, and how many spans it holds."""

    body: bytes
    spans: int


class Packer:
    """Fills requests up to a size. A span beyond it travels alone."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._spans: list[tuple[Origin, bytes]] = []
        self._size = 0
        self._origins: set[Origin] = set()

    def add(self, origin: Origin, span: bytes) -> ExportRequest | None:
        """Take a span; return the request that it no longer fitted into."""
        size = len(span) + _AROUND
        if origin not in self._origins:
            size += origin.size
        full = self.close() if self._spans and self._size + size > self._most else None
        if full is not None:
            size = len(span) + _AROUND + origin.size
        self._origins.add(origin)
        self._spans.append((origin, span))
        self._size += size
        return full

    def close(self) -> ExportRequest | None:
        """Return what is left, if anything."""
        if not self._spans:
            return None
        request = ExportRequest(joined(self._spans), len(self._spans))
        self._spans, self._size, self._origins = [], 0, set()
        return request


def joined(spans: Iterable[tuple[Origin, bytes]]) -> bytes:
    """Return a request of these spans, in their order as far as resources and scopes allow."""
    resources: dict[tuple[bytes, bytes], dict[tuple[bytes, bytes], list[bytes]]] = {}
    for origin, span in spans:
        scopes = resources.setdefault((origin.resource, origin.resource_schema), {})
        scopes.setdefault((origin.scope, origin.scope_schema), []).append(delimited(2, span))
    parts: list[bytes] = []
    for (resource, resource_schema), scopes in resources.items():
        group = delimited(1, resource)
        for (scope, scope_schema), members in scopes.items():
            schema = delimited(3, scope_schema) if scope_schema else b""
            group += delimited(2, delimited(1, scope) + b"".join(members) + schema)
        group += delimited(3, resource_schema) if resource_schema else b""
        parts.append(delimited(1, group))
    return b"".join(parts)


def taken_apart(body: bytes) -> Iterator[tuple[Origin, bytes]]:
    """Yield the spans of a request. Raises ValueError where the bytes are not a request."""
    for group in fields(body):
        resource, resource_schema = _one(group.content, 1), _one(group.content, 3)
        for scope in fields(group.content):
            if scope.number != 2:
                continue
            origin = Origin(resource, resource_schema, _one(scope.content, 1), _one(scope.content, 3))
            for span in fields(scope.content):
                if span.number == 2:
                    yield origin, span.content


def halves(body: bytes) -> list[bytes]:
    """Return the request as two, or as itself where it holds a single span."""
    spans = list(taken_apart(body))
    if len(spans) < 2:
        return [body]
    middle = len(spans) // 2
    return [joined(spans[:middle]), joined(spans[middle:])]


def _one(message: bytes, number: int) -> bytes:
    return next((each.content for each in fields(message) if each.number == number), b"")
