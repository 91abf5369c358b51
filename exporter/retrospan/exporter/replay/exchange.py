"""An HTTP request as every client's hook tells it, and what a hook has to do instead of sending it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

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
