"""Two runs of 50,000 spans, each with a tool result of 20 MB: interpreted as they grow, shown and compared."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.long_run import LongRun, requests_of
from fix_collector import Served

pytestmark = pytest.mark.soak

SPANS = 50_000
#: A model call and a tool call for every three spans; the last answer asks for no tool.
STEPS = 2 * ((SPANS - 1) // 3) - 1
RESULT = 20_000_000
#: The first run comes in so many parts, each loaded before the next is sent.
PARTS = 6
#: Of the collector and its interpreting process together.
MOST_BYTES = 1_500_000_000
ODD_STEP = SPANS // 9


class Memory:
    """The most that a process and those under it held at one time, looked at every tenth of a second."""

    def __init__(self, process: int) -> None:
        self.peak = 0
        self._process = process
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            self.peak = max(self.peak, sum(_resident(process) for process in _family(self._process)))


def _family(process: int) -> Iterator[int]:
    yield process
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            found = children.read_text().split()
        except OSError:
            continue  # the thread has ended
        for child in found:
            yield from _family(int(child))


def _resident(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0  # it has ended
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), 0)


def _spans_read(served: Served) -> int:
    """Spans that interpretation has read since the collector started, each time it did."""
    with urllib.request.urlopen(f"http://{served.sql}/metrics", timeout=60) as reply:
        lines = reply.read().decode().splitlines()
    return next(
        int(line.split()[1]) for line in lines if line.startswith("retrospan_interpreter_spans_total ")
    )


def _send_growing(served: Served, run: LongRun) -> int:
    """Send a run part by part and wait for each to be loaded; return how often one of its spans was interpreted, on average."""
    before = _spans_read(served)
    bodies = list(requests_of(run.spans(), 500))
    size = len(bodies) // PARTS + 1
    for start in range(0, len(bodies), size):
        served.send(bodies[start : start + size])
        served.until(lambda: not served.health().get("load_lag_records"), seconds=300)
    served.until(lambda: not served.health()["interpretation_lag_traces"], seconds=600)
    return _spans_read(served) - before


def test_long_runs_are_interpreted_listed_shown_and_compared_in_bounded_memory(tmp_path: Path) -> None:
    served = Served(tmp_path / "data", tmp_path / "stderr.txt")
    memory = Memory(served.process.pid)
    try:
        a = LongRun(SPANS, 7, big_result=RESULT)
        b = LongRun(SPANS, 7, big_result=RESULT, odd_step=ODD_STEP)
        assert _send_growing(served, a) <= 3 * SPANS
        served.send(list(requests_of(b.spans(), 500)))
        served.until(lambda: not served.health().get("load_lag_records"), seconds=300)
        served.until(lambda: not served.health()["interpretation_lag_traces"], seconds=600)
        _answers(served, a.run_id, b.run_id)
    finally:
        memory.stop()
        served.kill()
    print(f"peak memory {memory.peak / 1e6:,.0f} MB")
    assert memory.peak < MOST_BYTES


def _answers(served: Served, a: str, b: str) -> None:
    """Ask everything a reader asks of a run."""
    listed = [json.loads(line) for line in served.run("runs", "--json").splitlines()]
    assert {(run["run_id"], run["steps"], run["outcome"]) for run in listed} == {
        (a, STEPS, "ok"),
        (b, STEPS, "ok"),
    }
    shown = served.run("show", a).splitlines()
    assert sum(line.split()[1:2] == ["model"] for line in shown) == STEPS // 2 + 1
    assert served.run("show", f"{a}/{STEPS}", "--full")
    assert f"step {STEPS}" in served.run("state", a)
    assert "step 20000" in served.run("state", a, "--step", "20000")
    assert "message" in served.run("cost", a)
    assert served.run("trace", a)
    assert served.run("why", a)
    parted = served.run("diff", a, b)
    assert f"step {2 * ODD_STEP}:" in parted.splitlines()[0]
    assert "tool_result" in parted.splitlines()[0]
    (same,) = served.rows(
        "SELECT countIf(change = 'same') AS n FROM run_diff(a = {a:String}, b = {b:String})", a=a, b=b
    )
    # The result, and the model calls that saw it in their prompt, differ.
    assert 0 < STEPS - same["n"] < 50
    (call,) = served.rows(
        "SELECT max(length(result)) AS longest FROM tool_calls WHERE run_id = {a:String}", a=a
    )
    assert call["longest"] > RESULT
    (stored,) = served.rows(
        "SELECT uniqExact(number) AS n FROM canon_values WHERE run_id = {a:String} AND kind = 'message'", a=a
    )
    assert stored["n"] < SPANS
