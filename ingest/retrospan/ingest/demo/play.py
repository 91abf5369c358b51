"""`retrospan demo`: starts a collector, plays recorded runs into it over gRPC, and asks what happened."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import grpc

from retrospan.ingest.cli.client.collector_client import CollectorClient
from retrospan.ingest.cli.main import main
from retrospan.ingest.cli.terminal.progress import Progress
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.collector import Collector
from retrospan.ingest.demo.recordings import RecordedRequest, load_requests, move_times, run_ids
from retrospan.ingest.settings.config import Config
from retrospan.ingest.settings.setting_values import Address
from retrospan.schemas.errors import WarehouseUnavailable

_METHODS = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}

#: The newest run ended this long ago: later than that a run without an end would still count as running.
_AGO_SECONDS = 360
_GAP_SECONDS = 47
_SETTLE_SECONDS = 30.0


def run_demo(serve: bool, screen: Screen, color: str = "auto") -> int:
    """Play, ask and print; with `serve` stay up until interrupted. Returns the exit code."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="retrospan-demo-") as directory:
        free = Address("127.0.0.1", 0)
        collector = Collector(Config(data=Path(directory), grpc=free, http=free, sql=free))
        collector.start()
        try:
            addresses = collector.addresses
            os.environ["RETROSPAN_URL"] = f"http://{addresses.sql}"
            requests = load_requests()
            runs = run_ids(requests)
            screen.line(
                ("Recorded runs of LangGraph and OpenAI agents, sent over OTLP/gRPC to ", "dim"),
                str(addresses.grpc),
            )
            move_times(requests, time.time_ns() - _AGO_SECONDS * 10**9, _GAP_SECONDS * 10**9)
            _play(requests, str(addresses.grpc), screen)
            _wait_until_read(sum(len(ids) for ids in runs.values()))
            _ask(runs, screen, color)
            took = time.monotonic() - began
            screen.line()
            screen.line(
                (
                    f"Done in {took:.1f} s. Everything above was one SQL query away: retrospan COMMAND --sql shows it.",
                    "dim",
                )
            )
            if serve:
                _stay(collector, runs, screen)
        finally:
            collector.stop()
    return 0


def _play(requests: list[RecordedRequest], address: str, screen: Screen) -> None:
    """Send the requests one by one; returns when the last is acknowledged, which means on disk."""
    sent = 0
    with grpc.insecure_channel(address) as channel, Progress(screen) as progress:
        for done, request in enumerate(requests, start=1):
            export = channel.unary_unary(_METHODS[request.signal])
            body = request.message.SerializeToString()
            export(body, timeout=10)
            sent += len(body)
            progress.tell(
                {"phase": f"playing {request.run}", "done": done, "total": len(requests), "unit": "requests"}
            )
    screen.line(
        (f"{len(requests)} requests, {sent / 1e6:.1f} MB, each on disk before it was acknowledged", "dim")
    )


def _wait_until_read(runs: int) -> None:
    """Wait until every run is there and nothing is left to load or to interpret."""
    warehouse = CollectorClient.from_environ(os.environ)
    deadline = time.monotonic() + _SETTLE_SECONDS
    while time.monotonic() < deadline:
        health = warehouse.health()
        (row,) = warehouse.ask("SELECT count() AS runs FROM runs", {}).rows
        if row["runs"] == runs and not health["load_lag_records"] and not health["interpretation_lag_traces"]:
            return
        time.sleep(0.1)
    raise WarehouseUnavailable(f"the demo's runs were not readable after {_SETTLE_SECONDS:.0f} s")


def _ask(runs: dict[str, list[str]], screen: Screen, color: str) -> None:
    """Print the questions as a user would type them, and their answers."""
    short: Callable[[str], str] = lambda name: next(
        ids[0] for run, ids in runs.items() if run.endswith(name)
    )[:8]
    normal = short("langgraph-normal")
    one, other = short("diverge_a"), short("diverge_b")
    for heading, words in (
        ("Which runs were there?", ["runs"]),
        ("What happened in one of them?", ["show", normal]),
        ("What did the agent know before its third decision?", ["state", normal, "--step", "5"]),
        ("Where did its answer come from?", ["trace", normal]),
        ("Two runs, same input, different result. Where do they diverge, and why?", ["diff", one, other]),
        ("Which run turned in circles?", ["loops"]),
    ):
        screen.line()
        screen.line((heading, "bold"))
        screen.line(("$ retrospan " + " ".join(words), "dim"))
        screen.out.flush()
        main_words = [*words, "--color", color]
        main([*main_words, "--no-pager"] if words[0] in ("show", "trace", "diff") else main_words)


def _stay(collector: Collector, runs: dict[str, list[str]], screen: Screen) -> None:
    addresses = collector.addresses
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    first = next(iter(runs.values()))[0][:8]
    screen.line()
    screen.line(("Still serving; Ctrl-C ends it and removes its data. Try in another terminal:", "bold"))
    screen.line(f"  export RETROSPAN_URL=http://{addresses.sql}")
    screen.line(f"  retrospan show {first}")
    screen.line(
        '  retrospan sql "SELECT tool_name, count(), avg(duration_ms) FROM tool_calls GROUP BY tool_name"'
    )
    screen.line(f"  OTEL_EXPORTER_OTLP_ENDPOINT=http://{addresses.http} python my_agent.py")
    screen.out.flush()
    stop.wait()
