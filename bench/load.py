"""Loads: shapes of agent runs as export requests, several runs interleaved, made before any clock starts.

A load lies in a file so that every process of a measurement sends or inserts the same bytes:
per request its number of spans and its length (two 32-bit numbers, little-endian), then the request.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from bench.agents import Agents, Style

SPANS_PER_REQUEST = 100
SERVICES = 4
RUNS_AT_ONCE = 5
"""Runs that one service has under way, their spans interleaved."""
_HEAD = struct.Struct("<II")
_FITTED_RUNS = 60


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of load. `bytes_per_span` is the mean of the serialised span that the texts are fitted to.

    `spans` are sent to measure how fast they are taken, `interpreted` how fast they are made sense of. A `standard` is
    also measured with runs ten times as long, and at a steady rate.
    """

    name: str
    bytes_per_span: int
    steps: tuple[int, int]
    spans: int
    interpreted: int
    about: str
    standard: bool = False

    @property
    def longer(self) -> Shape:
        """Runs with ten times the steps, of spans as large."""
        low, high = self.steps
        return replace(self, name=f"{self.name}-longer", steps=(10 * low, 10 * high), standard=False)


SHAPES = (
    Shape("small", 1_400, (2, 6), 80_000, 6_000, "runs of 2-6 steps"),
    Shape("medium", 5_000, (2, 6), 200_000, 24_000, "runs of 2-6 steps, longer texts", True),
    Shape("long", 12_000, (50, 50), 8_000, 2_000, "runs of 50 steps, the whole history in every chat"),
)


@dataclass(frozen=True, slots=True)
class Request:
    """One serialised ExportTraceServiceRequest."""

    spans: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Load:
    """What a file of requests holds."""

    path: Path
    spans: int
    runs: int
    requests: int
    bytes: int


def make_load(shape: Shape, spans: int, seed: int, path: Path) -> Load:
    """Write a load of whole runs, at least `spans` spans, to a file."""
    runs: list[list[Span]] = []
    agents = Agents(seed, style_of(shape))
    made = 0
    while made < spans:
        runs.append(agents.run())
        made += len(runs[-1])
    requests = list(interleave(runs, seed))
    with path.open("wb") as file:
        for request in requests:
            file.write(_HEAD.pack(request.spans, len(request.body)))
            file.write(request.body)
    return Load(path, made, len(runs), len(requests), sum(len(request.body) for request in requests))


def style_of(shape: Shape) -> Style:
    """Return how the runs of a shape look."""
    return Style(shape.steps, _unit(shape))


def read_load(path: Path) -> list[Request]:
    """Return the requests of a file."""
    data = path.read_bytes()
    requests = []
    at = 0
    while at < len(data):
        spans, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        requests.append(Request(spans, data[at : at + length]))
        at += length
    return requests


def move(load: Load, end_ns: int) -> None:
    """Write a load anew, with its spans moved in time so that the last one ends then."""
    messages = [ExportTraceServiceRequest.FromString(request.body) for request in read_load(load.path)]
    spans = [
        span
        for message in messages
        for group in message.resource_spans
        for scope in group.scope_spans
        for span in scope.spans
    ]
    shift = end_ns - max(span.end_time_unix_nano for span in spans)
    for span in spans:
        span.start_time_unix_nano += shift
        span.end_time_unix_nano += shift
        for event in span.events:
            event.time_unix_nano += shift
    with load.path.open("wb") as file:
        for message in messages:
            body = message.SerializeToString()
            count = sum(len(scope.spans) for group in message.resource_spans for scope in group.scope_spans)
            file.write(_HEAD.pack(count, len(body)))
            file.write(body)


def interleave(runs: Iterable[list[Span]], seed: int) -> Iterator[Request]:
    """Spread runs over services and yield each service's requests as it fills them; every span goes out once."""
    dice = random.Random(seed)
    waiting = iter(runs)
    under_way: list[list[list[Span]]] = [[] for _ in range(SERVICES)]
    pending: list[list[Span]] = [[] for _ in range(SERVICES)]
    while True:
        for service in range(SERVICES):
            while len(under_way[service]) < RUNS_AT_ONCE and (run := next(waiting, None)) is not None:
                under_way[service].append(list(reversed(run)))
        busy = [service for service in range(SERVICES) if under_way[service]]
        if not busy:
            break
        service = dice.choice(busy)
        run = dice.choice(under_way[service])
        pending[service].append(run.pop())
        if not run:
            under_way[service].remove(run)
        if len(pending[service]) == SPANS_PER_REQUEST:
            yield _request(service, pending[service])
            pending[service] = []
    for service, spans in enumerate(pending):
        if spans:
            yield _request(service, spans)


def _request(service: int, spans: list[Span]) -> Request:
    message = ExportTraceServiceRequest()
    resource_spans = message.resource_spans.add()
    for key, value in (
        ("service.name", f"agents-{service}"),
        ("service.version", "2.3.1"),
        ("service.instance.id", f"agents-{service}-0"),
        ("telemetry.sdk.name", "opentelemetry"),
        ("telemetry.sdk.language", "python"),
    ):
        resource_spans.resource.attributes.add(key=key).value.string_value = value
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name, scope_spans.scope.version = "bench.agents", "1.0"
    scope_spans.spans.extend(spans)
    return Request(len(spans), message.SerializeToString())


@cache
def _unit(shape: Shape) -> float:
    """The unit of text that gives the shape's bytes per span: bytes grow in proportion to it, so two samples tell."""
    low, high = 50.0, 500.0
    at_low, at_high = _mean_bytes(shape.steps, low), _mean_bytes(shape.steps, high)
    return max(1.0, low + (shape.bytes_per_span - at_low) * (high - low) / (at_high - at_low))


def _mean_bytes(steps: tuple[int, int], unit: float) -> float:
    agents = Agents(7, Style(steps, unit))
    spans = [span for _ in range(_FITTED_RUNS if steps[1] < 20 else 6) for span in agents.run()]
    return sum(span.ByteSize() for span in spans) / len(spans)
