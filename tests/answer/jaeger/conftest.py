"""A port of Jaeger's API over three runs that OpenTelemetry's SDK made, and ways to ask."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
from interpreting import load, settled
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanKind, Status, StatusCode, set_span_in_context

from retrospan.ingest.answer.jaeger.port import JaegerPort
from retrospan.ingest.http.site import Site
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.settings.config import InterpreterSettings, Limits
from retrospan.ingest.settings.setting_values import Address
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse

#: Of the first run, nanoseconds; the others begin a second later each.
BEGAN = 1_790_000_000_000_000_000
SECOND = 10**9
MS = 10**6


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: Any
    headers: Any


class Asking:
    """Asks a port of Jaeger's API."""

    def __init__(self, address: str, context: ssl.SSLContext | None = None) -> None:
        self.address = address
        self._context = context

    def __call__(self, path: str, *words: tuple[str, str], method: str = "GET", **headers: str) -> Answer:
        host, _, port = self.address.rpartition(":")
        connection = (
            http.client.HTTPConnection(host, int(port), timeout=60)
            if self._context is None
            else http.client.HTTPSConnection(host, int(port), timeout=60, context=self._context)
        )
        try:
            target = f"{path}?{urlencode(words)}" if words else path
            connection.request(method, target, headers={"Host": "127.0.0.1", **headers})
            reply = connection.getresponse()
            body = reply.read()
            return Answer(reply.status, json.loads(body) if body else None, reply.headers)
        finally:
            connection.close()

    def ids(self, *words: tuple[str, str]) -> list[str]:
        """The ids of the traces that are found, in the order of the answer."""
        found = self("/api/traces", *words)
        assert found.status == 200, found.body
        return [trace["traceID"] for trace in found.body["data"]]


ANY = Address("127.0.0.1", 0)


class Scene(NamedTuple):
    """What was sent: traces by their start, and the span ids of each by name."""

    ask: Asking
    warehouse: EmbeddedWarehouse
    traces: list[str]
    spans: list[dict[str, str]]

    def rows(self, query: str, **parameters: str) -> list[dict[str, Any]]:
        """What the views say; one dict per row."""
        with closing(self.warehouse.connect()) as store:
            return [json.loads(line) for line in store.query(query, parameters).splitlines()]


@pytest.fixture(scope="module")
def scene(module_warehouse: EmbeddedWarehouse) -> Iterator[Scene]:
    requests, traces, spans = sent()
    with closing(module_warehouse.connect()) as store:
        first, last = load(store, requests)
    interpreter = Interpreter(module_warehouse, InterpreterSettings(quiet_seconds=0.0), own_process=False)
    interpreter.start()
    interpreter.notice(first, last)
    settled(interpreter)
    interpreter.stop()
    port = JaegerPort(Site(ANY), limits=Limits(), reader_of=lambda tenant: module_warehouse.connect())
    made = Scene(Asking(f"127.0.0.1:{port.start()}"), module_warehouse, traces, spans)
    assert len(made.rows("SELECT run_id FROM runs")) == 3
    yield made
    port.stop(5)


def sent() -> tuple[list[bytes], list[str], list[dict[str, str]]]:
    """Three runs as export requests, the ids of their traces by their start, and of their spans by name."""
    finished = InMemorySpanExporter()

    def provider(service: str) -> TracerProvider:
        made = TracerProvider(resource=Resource({"service.name": service, "team": "blue", "replicas": 2}))
        made.add_span_processor(SimpleSpanProcessor(finished))
        return made

    shop, stock = provider("shop"), provider("stock")
    here, there = shop.get_tracer("shop.scope", "1.2"), stock.get_tracer("stock.scope")
    traces, spans = list[str](), list[dict[str, str]]()
    for number in range(3):
        began = BEGAN + number * SECOND
        root = here.start_span(
            "invoke_agent planner",
            start_time=began,
            attributes={
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": "planner",
                "number": number,
                "huge": 2**60,
                "half": 0.5,
                "whole": 2.0,
                "flag": True,
                "words": ["a", "b"],
            },
        )
        inside = set_span_in_context(root)
        chat = here.start_span(
            "chat gpt", inside, SpanKind.CLIENT, start_time=began + MS,
            attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt", "order": f"o-{number}"},
        )  # fmt: skip
        chat.add_event("said", {"what": "hi ✓"}, timestamp=began + 2 * MS)
        chat.end(began + 31 * MS)
        tool = here.start_span(
            "execute_tool look", inside, start_time=began + 40 * MS, links=[Link(chat.get_span_context())],
            attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"},
        )  # fmt: skip
        called = there.start_span(
            "GET /stock", set_span_in_context(tool), SpanKind.SERVER, start_time=began + 41 * MS
        )
        if number == 2:
            called.set_status(Status(StatusCode.ERROR, "out of stock"))
        called.end(began + 45 * MS)
        tool.end(began + 50 * MS)
        root.end(began + 100 * MS)
        made = {"root": root, "chat": chat, "tool": tool, "called": called}
        traces.append(f"{root.get_span_context().trace_id:032x}")
        spans.append({name: f"{each.get_span_context().span_id:016x}" for name, each in made.items()})
    return [encode_spans(finished.get_finished_spans()).SerializeToString()], traces, spans
