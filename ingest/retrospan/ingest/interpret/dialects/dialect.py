"""What a dialect is, what its instrumentation can be told, and what its page says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.span import Span

Layer = Literal["messages", "results", "tools", "tokens", "conversation", "state", "steps", "spans"]
"""What an instrumentation may leave out of a run."""


def _nothing(reading: NormalizedSpan) -> None:
    """Leave the reading of the general rules as it is."""


@dataclass(frozen=True, slots=True)
class Switch:
    """What makes an instrumentation send a layer. `scope` is how its scope's name begins; '' stands for any."""

    layer: Layer
    how: str
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Producer:
    """Something that writes this dialect: what a user pastes so that it sends here, and what it never sends."""

    name: str
    lines: str
    language: Literal["sh", "python", "text"] = "sh"
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A field, and the attributes, events or log records that hold it, first place first."""

    field: str
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """What the dialect's page in the documentation says beside what the code shows."""

    title: str
    recognised: str
    sources: tuple[Source, ...]
    producers: tuple[Producer, ...]
    own: str = "Nothing: the general rules read it whole."
    is_recorded: bool = True
    """Whether the project holds recorded traffic of it, which the page is checked against."""


def of_package(name: str, package: str, *lacks: str, setting: str = "") -> Producer:
    """A producer that OpenTelemetry's own launcher turns on, with no change to the agent."""
    exports = " ".join(filter(None, ["OTEL_METRICS_EXPORTER=none", setting]))
    lines = (
        f"pip install {package} opentelemetry-distro opentelemetry-exporter-otlp\n"
        f"export {exports}\n"
        "opentelemetry-instrument python my_agent.py"
    )
    return Producer(name, lines, lacks=lacks)


@dataclass(frozen=True, slots=True)
class Dialect:
    """`speaks` recognises a span; `refine` corrects the general reading of it, in place.

    `switches` say how to get what a run of this dialect lacks.
    """

    name: str
    speaks: Callable[[Span], bool]
    page: Page
    refine: Callable[[NormalizedSpan], None] = _nothing
    switches: tuple[Switch, ...] = ()
