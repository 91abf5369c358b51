"""What hooks tell of a request that a client is about to send, and of a tool that is about to run; and what they have
to do instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from retrospan.schemas.bundle.form import Json, ModelCall

#: The ends of the paths that OTLP over HTTP is sent to.
_TELEMETRY = ("/v1/traces", "/v1/logs", "/v1/metrics")


class Exchange(NamedTuple):
    """A request that a client is about to send; header names are in lower case."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def authority(self) -> str:
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    @property
    def is_telemetry(self) -> bool:
        return self.method == "POST" and self.path.endswith(_TELEMETRY)

    @property
    def is_again(self) -> bool:
        """Tell whether the client says that it tries again, as those of OpenAI and Anthropic do."""
        return self.headers.get("x-stainless-retry-count", "0") not in ("0", "")


def lower(headers: Iterable[tuple[object, object]]) -> dict[str, str]:
    """Return headers by their names in lower case, as text."""
    return {text(name).lower(): text(value) for name, value in headers}


def text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


class TransportFailed(Exception):
    """The recorded call ended without an answer: each hook raises what its client would have raised."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Wanted(NamedTuple):
    """A tool that is about to run."""

    name: str
    arguments: Json
    """As the model wrote them, where the boundary knows that."""
    others: tuple[Json, ...] = ()
    """The same arguments as they may be recorded else: with defaults filled in …"""
    call_id: str | None = None
    effect: str | None = None
    """What its author says that it does to the world."""


class Live(NamedTuple):
    """The call is to be made: `body` is what to send instead of the request's own, None for that."""

    body: bytes | None = None
    recorded: ModelCall | None = None
    """In the mode shadow, the call that its answer is compared with."""
