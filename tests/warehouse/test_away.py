"""R09 as a whole: the server away while the stock exporter sends 500 spans a second. Ten minutes are

RETROSPAN_TEST_AWAY_SECONDS=600 pytest -s tests/warehouse/test_away.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from fix_collector import Served
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

AWAY_SECONDS = float(os.environ.get("RETROSPAN_TEST_AWAY_SECONDS", "20"))
SPANS_PER_SECOND = 500
PER_REQUEST = 50
SERVER = Path(__file__).with_name("engine_server.py")


class Agent:
    """Makes runs of fifty model calls, each a trace, as an instrumented program does."""

    def __init__(self) -> None:
        self._made = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._made))
        self._tracer = provider.get_tracer("agent")

    def run(self) -> tuple[ReadableSpan, ...]:
        """One run's spans, ended."""
        operation = "gen_ai.operation.name"
        with self._tracer.start_as_current_span("run", attributes={operation: "invoke_agent"}):
            for number in range(PER_REQUEST - 1):
                attributes: dict[str, str | int] = {
                    operation: "chat",
                    "gen_ai.request.model": "m",
                    "number": number,
                    "text": "x" * 500,
                }
                with self._tracer.start_as_current_span("chat m", attributes=attributes):
                    pass
        spans = self._made.get_finished_spans()
        self._made.clear()
        return spans


def tell(port: str, fault: str) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/fault?{fault}", timeout=30) as reply:
        reply.read()


@pytest.mark.soak
@pytest.mark.requirement("R09")
def test_ten_minutes_without_the_server_cost_no_exporter_anything(tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(SERVER.parents[1])}
    server = subprocess.Popen(
        [sys.executable, str(SERVER), str(tmp_path / "engine"), "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environ,
    )
    assert server.stdout is not None and server.stdin is not None
    port = server.stdout.readline().strip()
    collector = Served(
        tmp_path / "data", tmp_path / "stderr.txt", "--warehouse", f"clickhouse://127.0.0.1:{port}"
    )
    exporter = OTLPSpanExporter(endpoint=collector.grpc, insecure=True)
    agent = Agent()
    sent: list[str] = []
    slowest = 0.0
    failed = 0
    behind = 0
    try:
        collector.until(lambda: collector.health()["status"] == "ok")
        began = time.monotonic()
        down, up = began + 3.0, began + 3.0 + AWAY_SECONDS
        state = "there"
        while time.monotonic() < up + 3.0:
            now = time.monotonic()
            if state == "there" and now >= down:
                tell(port, "down=true")
                state = "away"
            elif state == "away" and now >= up:
                behind = collector.health()["load_lag_records"]
                tell(port, "down=false")
                state = "back"
            spans = agent.run()
            started = time.monotonic()
            failed += exporter.export(spans) is not SpanExportResult.SUCCESS
            slowest = max(slowest, time.monotonic() - started)
            context = spans[0].context
            assert context is not None
            sent.append(f"{context.trace_id:032x}")
            due = began + len(sent) * PER_REQUEST / SPANS_PER_SECOND
            time.sleep(max(0.0, due - time.monotonic()))
        stopped = time.monotonic()
        collector.until(lambda: not collector.health()["load_lag_records"], 1200)
        loaded = time.monotonic()
        collector.until(lambda: not collector.health()["interpretation_lag_traces"], 1200)
        health = collector.health()
        assert health["status"] == "ok", health["reasons"]
        print(
            f"\naway {AWAY_SECONDS:.0f} s at {len(sent) * PER_REQUEST / (stopped - began):.0f} spans/s: "
            f"{len(sent) * PER_REQUEST:,} spans sent, {failed} exports failed, slowest export {slowest * 1000:.0f} ms, "
            f"{behind:,} requests behind when it came back, loaded {loaded - stopped:.1f} s and interpreted "
            f"{time.monotonic() - stopped:.1f} s after the last was sent"
        )
        assert behind > 0 and not failed
        arrived = collector.rows(
            "SELECT trace_id, count() AS spans, min(ingested_at) AS at FROM spans GROUP BY trace_id ORDER BY at"
        )
        assert {row["trace_id"]: int(row["spans"]) for row in arrived} == dict.fromkeys(sent, PER_REQUEST)
        assert [row["trace_id"] for row in arrived] == sent
        (runs,) = collector.rows("SELECT count() AS runs, sum(model_calls) AS calls FROM runs")
        assert (int(runs["runs"]), int(runs["calls"])) == (len(sent), len(sent) * (PER_REQUEST - 1))
        assert collector.stop() == 0
    finally:
        exporter.shutdown()
        collector.kill()
        server.stdin.close()
        server.wait(30)
        server.stdout.close()
