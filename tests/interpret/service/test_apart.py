"""One trace that leads elsewhere holds up no other: what it needs is read with it alone."""

from __future__ import annotations

import pytest
from bench.long_run import LongRun, requests_of
from interpreting import emptied, living, load, settled
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from pytest import MonkeyPatch
from told_turns import whole_of

from retrospan.ingest.interpret.service import worker as worker_module
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.interpret.service.job import BatchResult, Job
from retrospan.ingest.interpret.service.processes import Processes
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.schemas.attributes import LINK_TYPE, RUN_ID

PLAIN = 8
#: How a trace may lead to another.
KINDS = ("linked", "named", "names a trace", "told whole")
#: The default run has all of them at once, the long one each alone as well: it tells which of them fails.
ALONE = [pytest.param((kind,), marks=pytest.mark.long, id=kind) for kind in KINDS]


def named(spans: list[Span], run_id: str) -> list[Span]:
    """Have every span name a run."""
    for span in spans:
        span.attributes.add(key=RUN_ID).value.string_value = run_id
    return spans


def continuing(spans: list[Span], other: list[Span]) -> list[Span]:
    """Have the root go on from the root of another trace."""
    link = spans[-1].links.add(trace_id=other[-1].trace_id, span_id=other[-1].span_id)
    link.attributes.add(key=LINK_TYPE).value.string_value = "continues"
    return spans


def run(length: int, seed: int) -> list[Span]:
    return [*LongRun(length, seed).spans()]


def trace_of(spans: list[Span]) -> str:
    return spans[0].trace_id.hex()


def two_batches() -> tuple[list[list[Span]], dict[str, list[Span]], list[list[Span]]]:
    """Return traces that come first; traces that lead to those; and traces that lead nowhere, but name runs of theirs."""
    begun, shared, retold = run(7, 1), named(run(7, 2), "shared"), run(7, 3)
    leading = {
        "linked": continuing(run(4, 11), begun),
        "named": named(run(4, 12), "shared"),
        "names a trace": named(run(4, 13), trace_of(begun)),
        "told whole": [whole_of(retold)],
    }
    plain = [named(run(4, 20 + number), f"run {number}") for number in range(PLAIN // 2)]
    plain += [run(4, 40 + number) for number in range(PLAIN // 2)]
    return [begun, shared, retold], leading, plain


def rows_of(
    store: EmbeddedStore, warehouse: EmbeddedWarehouse, processes: int, kinds: tuple[str, ...]
) -> dict[str, list[list[object]]]:
    """Have what comes first read, then the rest at once."""
    emptied(store)
    first, leading, plain = two_batches()
    settings = InterpreterSettings(quiet_seconds=0.0, processes=max(1, processes))
    interpreter = Interpreter(warehouse, settings, own_process=processes > 0)
    interpreter.start()
    try:
        for some in (first, [*plain, *(leading[kind] for kind in kinds)]):
            bodies = [body for spans in some for body in requests_of(spans, 500)]
            interpreter.notice(*load(store, bodies))
            settled(interpreter)
        assert interpreter.counters.failures == interpreter.counters.broken == 0
    finally:
        interpreter.stop()
    return living(store)


@pytest.mark.long
@pytest.mark.parametrize("held", [pytest.param("all rows", marks=pytest.mark.long), "no rows"])
@pytest.mark.parametrize("kinds", [*ALONE, pytest.param(KINDS, id=" ".join(KINDS))])
def test_the_others_of_a_batch_are_read_by_themselves(
    store: EmbeddedStore,
    warehouse: EmbeddedWarehouse,
    monkeypatch: MonkeyPatch,
    kinds: tuple[str, ...],
    held: str,
) -> None:
    if held == "no rows":
        monkeypatch.setattr(worker_module, "HELD_BYTES", 0)
    expected = rows_of(store, warehouse, 0, kinds)
    sent, whole = list[str](), list[str]()
    send, read_whole = Processes.send, Processes.whole

    def noted(processes: Processes, number: int, job: Job) -> bool:
        sent.extend(job.newest)
        return send(processes, number, job)

    def noted_whole(processes: Processes, job: Job, answer: object) -> BatchResult:
        whole.extend(job.newest)
        return read_whole(processes, job, answer)  # type: ignore[arg-type]

    monkeypatch.setattr(Processes, "send", noted)
    monkeypatch.setattr(Processes, "whole", noted_whole)
    assert rows_of(store, warehouse, 2, kinds) == expected
    first, leading, plain = two_batches()
    # Each that leads elsewhere was read with what it leads to, and nothing else was read so.
    allowed = {trace_of(leading[kind]) for kind in kinds} | {trace_of(spans) for spans in first}
    assert {trace_of(leading[kind]) for kind in kinds} <= {*whole} <= allowed
    assert [sent.count(trace_of(spans)) for spans in plain] == [1] * PLAIN, "the others once, by themselves"
