"""A collector with Jaeger's API, three runs that OpenTelemetry's SDK sent it, and ways to ask."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
from fix_collector import Served
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, SpanKind, Status, StatusCode, set_span_in_context

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

    def __init__(self, address: str) -> None:
        self.address = address

    def __call__(self, path: str, *words: tuple[str, str], method: str = "GET", **headers: str) -> Answer:
        host, _, port = self.address.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=60)
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


class Scene(NamedTuple):
    """What was sent: traces by their start, and the span ids of each by name."""

    ask: Asking
    served: Served
    traces: list[str]
    spans: list[dict[str, str]]


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("jaeger")
    served = Served(folder / "data", folder / "stderr.txt", "--jaeger", "127.0.0.1:0")
    traces, spans = _send(f"http://{served.http}/v1/traces")
    served.wait_idle()
    served.until(lambda: len(served.rows("SELECT run_id FROM runs")) == 3)
    yield Scene(Asking(served.jaeger), served, traces, spans)
    served.kill()


@pytest.fixture(scope="session")
def ask(scene: Scene) -> Asking:
    return scene.ask


def _send(endpoint: str) -> tuple[list[str], list[dict[str, str]]]:
    def provider(service: str) -> TracerProvider:
        made = TracerProvider(resource=Resource({"service.name": service, "team": "blue", "replicas": 2}))
        made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint)))
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
    stock.shutdown()
    shop.shutdown()
    return traces, spans
