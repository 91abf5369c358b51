"""`python -m bench.living [--agents 30] [--seconds 120]`: what runs cost that go on while they are read.

Each agent exports one span a second, every span at once, in one run that ends with the bench. Beside them a short run
is sent whole every few seconds: how long it takes until `runs` has it tells whether runs that have ended wait for those
that go on. Printed are the spans that were interpreted for each one sent, and how many of them were not known from the
reading before; the processor time of all processes, and what one reading of everything takes; and the lags. Writes no
page.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from bench.long_run import LongRun
from bench.processes import Served, cpu_seconds_of_family
from bench.scale import settle

PROBE_SPANS, PROBE_SECONDS = 7, 5.0
#: Asking takes 40 ms of processor: with a pause of 0.1 s it took a quarter of a core from what is measured.
_ASK_AGAIN_SECONDS = 0.5
_READ, _KNOWN = "retrospan_interpreter_spans", "retrospan_interpreter_known_spans"


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.living", description=__doc__)
    parser.add_argument("--agents", type=int, default=30, metavar="N", help="how many go on at a time (30)")
    parser.add_argument(
        "--seconds", type=int, default=120, metavar="N", help="spans of each, one a second (120)"
    )
    arguments = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with Served(place / "data", place / "errors.txt") as served:
            settle(served)
            _measure(served, arguments.agents, arguments.seconds)
    return 0


def _measure(served: Served, agents: int, seconds: int) -> None:
    began_read, began_known = _count(served, _READ), _count(served, _KNOWN)
    began_cpu = cpu_seconds_of_family(served.process.pid)
    runs = [[*LongRun(seconds, seed).spans()] for seed in range(agents)]
    lags, waits = list[float](), list[float]()
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(served, over, lags))
    probe = threading.Thread(target=send_probes, args=(served, over, waits))
    watch.start()
    probe.start()
    began, sent = time.monotonic(), 0
    for second in range(max(map(len, runs))):
        for number, spans in enumerate(runs):
            if second < len(spans):
                due = began + second + number / agents
                time.sleep(max(0.0, due - time.monotonic()))
                _send(served, [spans[second]])
                sent += 1
    live = time.monotonic() - began
    cpu = cpu_seconds_of_family(served.process.pid) - began_cpu
    over.set()
    watch.join()
    probe.join()
    settle(served)
    sent += PROBE_SPANS * len(waits)
    read, known = _count(served, _READ) - began_read, _count(served, _KNOWN) - began_known
    print(f"agents {agents}, one span a second each, {live:.0f} s")
    print(f"sent {sent:,} spans, interpreted {read:,}: {read / sent:.1f} times")
    print(f"of these not known before: {read - known:,}: {(read - known) / sent:.1f} times")
    print(f"processor of all processes: {cpu:.1f} s, {cpu / live:.2f} of a core")
    print(f"longest wait of what goes on: median {median(lags):.1f} s, most {max(lags):.1f} s")
    print(f"a run that has ended, until `runs` has it: median {median(waits):.1f} s, most {max(waits):.1f} s")
    began_cpu = cpu_seconds_of_family(served.process.pid)
    served.rebuild()
    cpu = cpu_seconds_of_family(served.process.pid) - began_cpu
    print(f"a rebuild of everything: {cpu:.1f} s of processor")


def _count(served: Served, counter: str) -> int:
    with urllib.request.urlopen(f"http://{served.ports['sql']}/metrics", timeout=60) as reply:
        text = reply.read().decode()
    return int(float(next(line.split()[-1] for line in text.splitlines() if line.startswith(counter))))


def _watch(served: Served, over: threading.Event, lags: list[float]) -> None:
    while not over.wait(1.0):
        lags.append(float(served.health()["interpretation_lag_seconds"]))


def send_probes(served: Served, over: threading.Event, waits: list[float]) -> None:
    """Send a short run whole every few seconds until it is `over`; add for each how long `runs` did not have it.

    What is added may be up to half a second too long, and is never too short.
    """
    seed = 1000
    while not over.wait(PROBE_SECONDS):
        seed += 1
        run = LongRun(PROBE_SPANS, seed)
        _send(served, [*run.spans()])
        began = time.monotonic()
        while not served.number(f"SELECT count() FROM runs WHERE run_id = '{run.run_id}'"):
            time.sleep(_ASK_AGAIN_SECONDS)
        waits.append(time.monotonic() - began)


def _send(served: Served, spans: list[Span]) -> None:
    request = ExportTraceServiceRequest()
    of_service = request.resource_spans.add()
    of_service.scope_spans.add().spans.extend(spans)
    body = request.SerializeToString()
    post = urllib.request.Request(
        f"http://{served.ports['http']}/v1/traces", body, {"Content-Type": "application/x-protobuf"}
    )
    with urllib.request.urlopen(post, timeout=60):
        pass


if __name__ == "__main__":
    sys.exit(main())
