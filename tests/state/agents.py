"""Agents that know OpenTelemetry's SDK and the names of the conventions, nothing else: the traffic of the state seeds.

Times are those of the stories, on one day; every span goes over OTLP/gRPC as the SDK sends it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, Status, StatusCode

DAY = datetime(2026, 11, 20, tzinfo=UTC)
SECOND = 10**9
Attributes = Mapping[str, str | int | float | bool]


def at(clock: str, days: int = 0, seconds: float = 0.0) -> int:
    """Unix nanoseconds of a time of the stories' day, or of a day after it."""
    hour, minute = clock.split(":")
    moment = DAY + timedelta(days=days, hours=int(hour), minutes=int(minute))
    return int(moment.timestamp()) * SECOND + round(seconds * SECOND)


class Agent:
    """One program with the SDK; `flush` returns when the collector has everything."""

    def __init__(self, endpoint: str, service: str) -> None:
        self._provider = TracerProvider(
            resource=Resource({"service.name": service}), span_limits=SpanLimits(max_events=2000)
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, insecure=True))
        )
        self.tracer = self._provider.get_tracer("state.seeds")

    def flush(self) -> None:
        assert self._provider.force_flush(30_000)

    def close(self) -> None:
        self._provider.shutdown()

    @contextmanager
    def run(
        self, run_id: str, name: str, start: int, end: int, failed: str = "", **more: str
    ) -> Iterator[Span]:
        """The root span of a run of the agent `name`."""
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": name,
            "retrospan.run.id": run_id,
        }
        span = self.tracer.start_span(
            f"invoke_agent {name}", context=trace.set_span_in_context(trace.INVALID_SPAN), start_time=start
        )
        span.set_attributes({**attributes, **{key.replace("__", "."): value for key, value in more.items()}})
        with trace.use_span(span):
            yield span
        _end(span, end, failed)

    @contextmanager
    def step(
        self, number: int, name: str, start: int, end: int, failed: str = "", **more: str | int
    ) -> Iterator[Span]:
        """A task step."""
        span = self.tracer.start_span(name, start_time=start)
        span.set_attributes({"retrospan.step.index": number, "retrospan.step.name": name})
        span.set_attributes({key.replace("__", "."): value for key, value in more.items()})
        with trace.use_span(span):
            yield span
        _end(span, end, failed)

    def tool(
        self,
        name: str,
        arguments: object,
        result: object,
        start: int,
        end: int,
        failed: str = "",
        attributes: Attributes | None = None,
    ) -> Span:
        """An executed tool call, whose result nobody has when it failed."""
        span = self.tracer.start_span(f"execute_tool {name}", start_time=start)
        span.set_attributes(
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": name,
                "gen_ai.tool.call.arguments": json.dumps(arguments),
                **(attributes or {}),
            }
        )
        if not failed:
            span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
        _end(span, end, failed)
        return span


def _end(span: Span, end: int, failed: str) -> None:
    if failed:
        kind, _, message = failed.partition(": ")
        span.add_event("exception", {"exception.type": kind, "exception.message": message}, end)
        span.set_attribute("error.type", kind)
        span.set_status(Status(StatusCode.ERROR, message))
    span.end(end)


def observe(
    span: Span, entity: str, changes: Mapping[str, object], when: int, **more: str | float | bool
) -> None:
    """A `retrospan.observation` event; `more` are its optional attributes, without the prefix."""
    kind, _, name = entity.partition("/")
    span.add_event(
        "retrospan.observation",
        {
            "retrospan.entity.type": kind,
            "retrospan.entity.id": name,
            "retrospan.changes": json.dumps(changes),
            **{f"retrospan.{key.replace('__', '.')}": value for key, value in more.items()},
        },
        when,
    )


def use(span: Span, entity: str, when: int, **more: str) -> None:
    """A `retrospan.use` event."""
    kind, _, name = entity.partition("/")
    span.add_event(
        "retrospan.use",
        {
            "retrospan.entity.type": kind,
            "retrospan.entity.id": name,
            **{f"retrospan.{key.replace('__', '.')}": value for key, value in more.items()},
        },
        when,
    )


def decide(span: Span, name: str, options: Sequence[str], chosen: str, rationale: str, when: int) -> None:
    span.add_event(
        "retrospan.decision",
        {
            "retrospan.decision.name": name,
            "retrospan.decision.options": json.dumps(options),
            "retrospan.decision.chosen": chosen,
            "retrospan.decision.rationale": rationale,
            "retrospan.decision.confidence": 0.9,
        },
        when,
    )


def checkpoint(span: Span, name: str, when: int, parent: str = "") -> None:
    attributes = {"retrospan.checkpoint.id": name, "retrospan.checkpoint.trigger": "schedule"}
    span.add_event(
        "retrospan.checkpoint", attributes | ({"retrospan.checkpoint.parent": parent} if parent else {}), when
    )
