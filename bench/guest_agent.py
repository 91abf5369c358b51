"""The agents that bench.guest measures: `python -m bench.guest_agent MODE FACTS`; the figures are the last line."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

MIB = 1 << 20
ROUNDS = 20


def state(number: int) -> dict[str, Any]:
    """About 5 KB of JSON: the state of an agent amid its work."""
    orders = [
        {
            "id": f"O-{number}-{n}",
            "status": "open",
            "lines": [{"sku": f"K{n}{m}", "count": m} for m in range(4)],
        }
        for n in range(18)
    ]
    messages = [
        {"role": "user", "content": f"Where is order {n}? It should be here by now."} for n in range(20)
    ]
    return {"customer": "C-1042", "step": number, "orders": orders, "messages": messages, "notes": "x" * 400}


def time_import() -> Mapping[str, float]:
    import opentelemetry.sdk.trace
    import opentelemetry.sdk.trace.export  # noqa: F401

    began = time.process_time()
    import retrospan.exporter

    front = time.process_time() - began
    retrospan.exporter.instrument(endpoint="http://127.0.0.1:9", frameworks=[])
    return {"front": front, "all": time.process_time() - began}


def time_steps(steps: int, sends: bool) -> Mapping[str, float]:
    """Rounds of each kind in turn, so that a noisy moment does not fall on one alone. `sends`: the steps are recorded
    where `instrument()` is, so that each says that it has begun, and is queued; the bare spans are not."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("bench")
    if not sends:
        trace.set_tracer_provider(TracerProvider(shutdown_on_exit=False))
        return _rounds(steps, tracer, lambda: None)
    from retrospan.exporter import instrument

    with _receiving() as endpoint:
        made = instrument(endpoint=endpoint, frameworks=[])
        found = _rounds(steps, tracer, lambda: None if made.flush(30) else sys.exit("the receiver is away"))
        counts = made.counts()
        assert not counts.lost and not counts.records.lost and counts.records.delivered >= counts.delivered
        return found


def _rounds(steps: int, tracer: Any, settle: Callable[[], None]) -> Mapping[str, float]:
    """The lowest of the rounds of each kind, in seconds; `settle` is called between them."""
    from retrospan.exporter.recording import step
    from retrospan.schemas.attributes import STATE_AFTER, STATE_BEFORE, STEP_NAME

    what = state(1)
    text = json.dumps(what)

    def ready() -> None:
        with tracer.start_as_current_span("collect") as span:
            span.set_attribute(STEP_NAME, "collect")
            span.set_attribute(STATE_BEFORE, text)
            span.set_attribute(STATE_AFTER, text)

    def bare() -> None:
        with tracer.start_as_current_span("collect") as span:
            span.set_attribute(STEP_NAME, "collect")
            span.set_attribute(STATE_BEFORE, json.dumps(what))
            what["step"] += 1
            span.set_attribute(STATE_AFTER, json.dumps(what))

    def own() -> None:
        with step("collect", state=what):
            what["step"] += 1

    kinds = {"ready": ready, "bare": bare, "step": own}
    best = dict.fromkeys(kinds, float("inf"))
    for _ in range(ROUNDS):
        for name, record in kinds.items():
            best[name] = min(best[name], _each(record, max(10, steps // ROUNDS)))
            settle()
    return best


def _each(record: Callable[[], None], times: int) -> float:
    began = time.thread_time()
    for _ in range(times):
        record()
    return (time.thread_time() - began) / times


def sink() -> None:
    """A receiver that takes everything; prints its port, and ends with its standard input: with the agent."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            left = int(self.headers["Content-Length"])
            while left:
                if not (taken := len(self.rfile.read(min(left, 1 << 16)))):
                    self.close_connection = True
                    return
                left -= taken
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


@contextmanager
def _receiving() -> Iterator[str]:
    """A receiver in a process of its own; its address."""
    with subprocess.Popen(
        [sys.executable, "-m", "bench.guest_agent", "sink", "{}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as receiver:
        try:
            assert receiver.stdout is not None
            yield f"http://127.0.0.1:{int(receiver.stdout.readline())}"
        finally:
            receiver.kill()


def time_loop(kind: str, seconds: float) -> Mapping[str, float]:
    """How late an event loop is that does 1,000 steps a second beside."""
    with _receiving() as endpoint:
        record = _recorder(kind, endpoint)
        # What the first span and the first request load is the agent's start.
        record()
        time.sleep(1.5)
        late, strictly, done, took = asyncio.run(_run_loop(record, seconds))
    late.sort()
    strictly.sort()
    places = {"p50": 0.5, "p99": 0.99, "p999": 0.999, "most": 1.0}
    figures = {name: late[min(len(late) - 1, int(place * len(late)))] for name, place in places.items()}
    strict = strictly[min(len(strictly) - 1, int(places["p999"] * len(strictly)))]
    return {**figures, "strict": strict, "rate": done / took}


def _recorder(kind: str, endpoint: str) -> Callable[[], None]:
    what = state(1)
    if kind == "none":
        return lambda: None
    if kind == "own":
        from retrospan.exporter import instrument, step

        instrument(endpoint=endpoint, frameworks=[])

        def record() -> None:
            with step("collect", state=what):
                what["step"] += 1

        return record
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{endpoint}/v1/traces")))
    tracer = provider.get_tracer("bench")

    def record_bare() -> None:
        with tracer.start_as_current_span("collect") as span:
            span.set_attribute("retrospan.state.before", json.dumps(what))
            span.set_attribute("retrospan.state.after", json.dumps(what))

    return record_bare


async def _run_loop(
    record: Callable[[], None], seconds: float
) -> tuple[list[float], list[float], int, float]:
    """Lateness of a timer that is due each millisecond, while 1,000 steps a second are recorded.

    What the process's threads waited for a processor meanwhile is taken off: that is the machine's other work. It may
    be too much, where a thread waited that the loop did not wait for: the second list is without what this thread
    waited, and too long where another one lost its processor with the interpreter's lock in its hands.
    """
    late: list[float] = []
    strictly: list[float] = []
    loop = asyncio.get_running_loop()
    began = loop.time()
    done = 0
    while loop.time() < began + seconds:
        # Read before the timer is set: reading gives the interpreter's lock away a dozen times, which is not lateness.
        queued, waited = _queued_seconds(), _queued_seconds("thread-self")
        due = loop.time() + 0.001
        await asyncio.sleep(0.001)
        lateness = loop.time() - due
        strictly.append(max(0.0, lateness - (_queued_seconds("thread-self") - waited)))
        late.append(max(0.0, lateness - (_queued_seconds() - queued)))
        for _ in range(int((loop.time() - began) * 1_000) - done):
            record()
            done += 1
    return late, strictly, done, loop.time() - began


def _queued_seconds(whose: str = "self/task/*") -> float:
    """How long the threads of this process, or only this one, have waited for a processor, together."""
    total = 0
    for file in Path("/proc").glob(f"{whose}/schedstat"):
        try:
            total += int(file.read_text().split()[1])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return total / 1e9


def measure_memory(spans: int) -> Mapping[str, float]:
    """Record with nobody listening, and look at the process."""
    from opentelemetry import trace

    from retrospan.exporter import instrument
    from retrospan.schemas.attributes import STATE_AFTER

    made = instrument(endpoint="http://127.0.0.1:9", frameworks=[])
    text, tracer = json.dumps(state(1)), trace.get_tracer("bench")
    tracer.start_span("warm").end()
    made.flush(0.2)
    before = highest = halfway = _resident()
    for number in range(spans):
        with tracer.start_as_current_span("collect") as span:
            # A text of its own for each, as an agent's states are.
            span.set_attribute(STATE_AFTER, f"{text} {number}")
        if number % 500 == 0:
            highest = max(highest, _resident())
        if number == spans // 2:
            halfway = highest
    counts = made.counts()
    figures = {
        "limit_mib": 64.0,
        "grown_mib": (max(highest, _resident()) - before) / MIB,
        "second_half_mib": (max(highest, _resident()) - halfway) / MIB,
        "waiting": float(counts.waiting),
        "lost": float(counts.lost_spans),
    }
    made.shutdown(0)
    return figures


def _resident() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no VmRSS in /proc/self/status")


def main() -> None:
    mode, facts = sys.argv[1], json.loads(sys.argv[2])
    if mode == "sink":
        sink()
    elif mode == "import":
        print(json.dumps(time_import()))
    elif mode == "step":
        print(json.dumps(time_steps(int(facts["steps"]), sends=bool(facts["sends"]))))
    elif mode.startswith("loop-"):
        print(json.dumps(time_loop(mode.removeprefix("loop-"), facts["seconds"])))
    else:
        print(json.dumps(measure_memory(int(facts["spans"]))))


if __name__ == "__main__":
    main()
