"""Long runs hold no other up, however many there are, and end: read, or listed as what could not be read."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.deep_run import SHAPES, DeepRun
from bench.long_run import LongRun, requests_of
from fix_collector import Served
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from retrospan.ingest.interpret.service.dispatch import LONG_ROWS

#: Quiet machines take two to four; the promise of ten is measured by `python -m bench.deep`.
GENEROUS_SECONDS = 60.0


class Good:
    """Short runs, one after the other."""

    def __init__(self) -> None:
        self._seed = 1_000

    def send(self, served: Served) -> str:
        """Send one more, and return its id."""
        self._seed += 1
        run = LongRun(10, self._seed)
        served.send([*requests_of(run.spans(), 100)])
        return run.run_id


def outcome(served: Served, run_id: str) -> str:
    rows = served.rows("SELECT outcome FROM runs WHERE run_id = {run:String}", run=run_id)
    return str(rows[0]["outcome"]) if rows else ""


def read_within(served: Served, run_id: str, seconds: float = GENEROUS_SECONDS) -> float:
    began = time.monotonic()
    served.until(lambda: bool(outcome(served, run_id)), seconds)
    return time.monotonic() - began


@pytest.mark.soak
def test_a_good_run_is_read_while_a_long_one_is(served: Served) -> None:
    long = DeepRun(20_000, *SHAPES["other-tools"])
    served.send([*requests_of(long.spans(), 2_000)])
    good = Good()
    first = good.send(served)
    read_within(served, first)
    assert not outcome(served, long.run_id), "it was not a long run: the test says nothing"
    served.wait_idle()
    assert outcome(served, long.run_id) == "ok"
    assert served.rows("SELECT steps FROM runs WHERE run_id = {run:String}", run=long.run_id) == [
        {"steps": 20_000}
    ]


@pytest.mark.soak
def test_many_long_runs_that_grow_hold_no_other_up(served: Served) -> None:
    runs = [DeepRun(6_000, *SHAPES["mixed"], seed=seed) for seed in range(1, 16)]
    halves: list[Iterator[bytes]] = [requests_of(run.spans(), 3_000) for run in runs]
    good = Good()
    for _ in range(2):
        served.send([next(bodies) for bodies in halves])
        read_within(served, good.send(served))
    served.wait_idle()
    found = served.rows("SELECT count() AS runs, uniqExact(steps) AS lengths FROM runs WHERE outcome = 'ok'")
    assert found == [{"runs": len(runs) + 2, "lengths": 2}]


@pytest.mark.parametrize(
    "joined",
    [
        pytest.param(False, id="claimed", marks=pytest.mark.soak),
        pytest.param(True, id="joined", marks=pytest.mark.long),
    ],
)
def test_a_long_run_in_several_traces_is_one(served: Served, joined: bool) -> None:
    """Its parts say that they belong together: whatever comes first, in the end they are read together."""
    parts = [
        DeepRun(count, *SHAPES["other-tools"], seed=seed) for seed, count in ((1, 3_000), (2, 3_000), (3, 50))
    ]
    for part in reversed(parts):
        bodies = []
        for body in requests_of(part.spans(), 1_000):
            request = ExportTraceServiceRequest.FromString(body)
            for span in request.resource_spans[0].scope_spans[0].spans:
                if not joined:
                    span.attributes.add(key="retrospan.run.id").value.string_value = "claimed"
                elif part is not parts[0] and not span.parent_span_id:
                    link = span.links.add(trace_id=parts[0].trace_id, span_id=(1).to_bytes(8, "big"))
                    link.attributes.add(key="retrospan.link.type").value.string_value = "continues"
            bodies.append(request.SerializeToString())
        served.send(bodies)
        time.sleep(1.5)  # each is due before the next comes
    served.wait_idle()
    run_id = parts[0].run_id if joined else "claimed"
    # Where one lies in the other, the outermost tools are in a tool of their name, and the same execution.
    steps = 6_048 if joined else 6_050
    assert served.rows("SELECT run_id, steps FROM runs") == [{"run_id": run_id, "steps": steps}]


@pytest.mark.soak
def test_a_run_that_takes_too_long_is_listed_and_counted(tmp_path: Path) -> None:
    served = Served(
        tmp_path / "data", tmp_path / "stderr.txt", "--config", _config(tmp_path, "run_seconds = 1")
    )
    try:
        run = DeepRun(30_000, *SHAPES["other-tools"])
        served.send([*requests_of(run.spans(), 2_000)])
        _listed(served, run.run_id, "could not be read within 1 s")
    finally:
        served.kill()


@pytest.mark.long
def test_a_run_that_takes_too_much_memory_is_listed_and_counted(tmp_path: Path) -> None:
    served = Served(
        tmp_path / "data", tmp_path / "stderr.txt", "--config", _config(tmp_path, 'run_bytes = "100MiB"')
    )
    try:
        run = DeepRun(30_000, *SHAPES["other-tools"])
        served.send([*requests_of(run.spans(), 2_000)])
        _listed(served, run.run_id, "more memory than a process that reads runs may have")
        read_within(served, Good().send(served))
    finally:
        served.kill()


def _config(directory: Path, line: str) -> str:
    file = directory / "retrospan.toml"
    file.write_text(f"[interpreter]\n{line}\n")
    return str(file)


def _listed(served: Served, run_id: str, reason: str) -> None:
    served.wait_idle()
    (row,) = served.rows("SELECT * FROM runs WHERE run_id = {run:String}", run=run_id)
    assert (row["outcome"], row["incomplete_because"]) == ("incomplete", "not_interpreted")
    assert not str(row["started_at"]).startswith("1970")
    (problem,) = served.rows(
        "SELECT reason FROM interpretation_problems WHERE run_id = {run:String}", run=run_id
    )
    assert reason in str(problem["reason"])
    health = served.health()
    assert health["interpretation_failures"] >= 1
    assert health["status"] == "degraded"
    assert "could not be interpreted" in str(health["reasons"])
    served.run("show", run_id)


@pytest.mark.long
def test_its_process_may_be_killed(served: Served) -> None:
    """It is read again, by another."""
    run = DeepRun(15_000, *SHAPES["other-tools"])
    served.send([*requests_of(run.spans(), 2_000)])
    served.until(lambda: bool(_readers_of_long_runs(served)))
    for process in _readers_of_long_runs(served):
        os.kill(int(process.name), signal.SIGKILL)
    read_within(served, Good().send(served))
    served.until(lambda: outcome(served, run.run_id) == "ok", 240.0)


def _readers_of_long_runs(served: Served) -> list[Path]:
    """The processes below the collector's that read long runs: they are nicer than the others."""
    found = []
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = status.read_bytes().split(b"\0")
        except OSError:
            continue
        if (
            b"retrospan.ingest.interpret.service.worker" in words
            and words[-2] == b"5"
            and _is_below(status.parent, served)
        ):
            found.append(status.parent)
    return found


def _is_below(process: Path, served: Served) -> bool:
    at = int(process.name)
    while at > 1:
        if at == served.process.pid:
            return True
        try:
            at = int(Path(f"/proc/{at}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


@pytest.mark.long
def test_a_long_run_that_is_alone_is_answered_whole(served: Served) -> None:
    """Its values are 1.4 MB, and it has 1,500 calls: beside each call they would be more than a question may hold."""
    run = LongRun(4_500, 7)
    served.send([*requests_of(run.spans(), 500)])
    served.wait_idle()
    steps = 2_997
    assert len(json.loads(f"[{','.join(served.run('show', run.run_id, '--json').splitlines())}]")) > steps
    assert f"step {steps}" in served.run("state", run.run_id)
    (said,) = served.rows(
        "SELECT sum(length(output_messages)) AS answers, sum(length(input_messages)) AS prompts"
        " FROM model_calls WHERE run_id = {run:String}",
        run=run.run_id,
    )
    assert said["prompts"] > 10 * said["answers"] > 5_000_000
    (known,) = served.rows(
        "SELECT sum(length(state_after)) AS characters FROM steps WHERE run_id = {run:String}", run=run.run_id
    )
    assert known["characters"] > 10_000_000


def test_what_is_long_is_long() -> None:
    assert LONG_ROWS < 6_000, "the runs of these tests are not long ones"
