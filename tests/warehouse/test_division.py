"""Runs divided among interpreters: traces that belong together come to one of them, whoever sees them first."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import otlp_requests as otlp
import pytest

from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.interpret.service.partition_lease import PARTS, PartitionLease
from retrospan.ingest.load.identity import LogIdentity, note_log
from retrospan.ingest.load.landing import insert_records
from retrospan.ingest.log.record import encode
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.schemas.errors import ConfigError
from retrospan.schemas.sequences import base_of

_SEQUENCES = itertools.count(1)
LOGS = (11, 12)
SCENES = 12


@pytest.fixture
def interpreters(warehouse: EmbeddedWarehouse, store: EmbeddedStore) -> Iterator[list[Interpreter]]:
    """Two interpreters that share the runs of two logs; each has half of the parts."""
    for number in LOGS:
        note_log(store, number, f"log {number}")
    shares = [PartitionLease(warehouse.connect, name, lease_seconds=2.0) for name in ("a", "b")]
    running = [
        Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0), own_process=False, share=share)
        for share in shares
    ]
    for interpreter in running:
        interpreter.start()
    until(lambda: [len(share.parts) for share in shares] == [PARTS // 2] * 2)
    yield running
    for interpreter in running:
        interpreter.stop()


def until(holds: Callable[[], bool], said: Callable[[], object] = lambda: "") -> None:
    deadline = time.monotonic() + 600
    while not holds():
        assert time.monotonic() < deadline, f"did not come to hold: {said()}"
        time.sleep(0.05)


def sent(trace: int, span: int, operation: str, link: tuple[int, int] | None = None, run: str = "") -> bytes:
    """A request with one span; ids are small numbers."""
    made = otlp.span(trace_id=trace.to_bytes(16, "big"), span_id=span.to_bytes(8, "big"))
    made.start_time_unix_nano, made.end_time_unix_nano = span * 10**9, span * 10**9 + 5
    made.attributes[0].value.string_value = operation
    if operation == "execute_tool":
        made.attributes.add(key="gen_ai.tool.name").value.string_value = "t"
    if run:
        made.attributes.add(key="retrospan.run.id").value.string_value = run
    if link is not None:
        made.links.add(trace_id=link[0].to_bytes(16, "big"), span_id=link[1].to_bytes(8, "big"))
    return otlp.traces(made).SerializeToString()


def arrive(warehouse: EmbeddedWarehouse, log: int, requests: Sequence[bytes]) -> None:
    """Load requests as the collector with this log does."""
    store = warehouse.connect()
    data = bytearray()
    number = 0
    for request in requests:
        number = next(_SEQUENCES)
        parts, _ = encode(arrived_at=time.time_ns(), sequence=number, tenant="default", traces=request)
        data += b"".join(parts)
    store.keep({"log_comment": str(log)})
    insert_records(store, bytes(data), f"division-{number}")
    store.close()


RUNS = "SELECT run_id, length(trace_ids), steps FROM canon_runs FINAL WHERE NOT deleted ORDER BY run_id"


@pytest.mark.long
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)], ids=["in order", "backwards"])
def test_traces_of_one_run_are_read_together(
    warehouse: EmbeddedWarehouse,
    store: EmbeddedStore,
    interpreters: list[Interpreter],
    order: tuple[int, ...],
) -> None:
    scenes = [
        [
            sent(base + 1, base + 1, "invoke_agent"),
            sent(base + 2, base + 2, "chat", link=(base + 1, base + 1)),
            sent(base + 3, base + 3, "execute_tool", link=(base + 2, base + 2)),
        ]
        for base in range(100, 100 * (SCENES + 1), 100)
    ]
    for index in order:
        arrive(warehouse, LOGS[index % 2], [scene[index] for scene in scenes])
    expected = [[(base + 1).to_bytes(16, "big").hex(), 3, 2] for base in range(100, 100 * (SCENES + 1), 100)]
    until(lambda: store.rows(RUNS) == expected, lambda: store.rows(RUNS))
    # A lease may run out meanwhile: whoever has the part then reads it again.
    assert all(interpreter.counters.runs for interpreter in interpreters), "both had something to read"


@pytest.mark.long
def test_a_run_named_by_spans_of_many_traces_is_one(
    warehouse: EmbeddedWarehouse, store: EmbeddedStore, interpreters: list[Interpreter]
) -> None:
    for number in range(6):
        arrive(warehouse, LOGS[number % 2], [sent(number + 1, number + 1, "chat", run="the-run")])
    until(lambda: store.rows(RUNS) == [["the-run", 6, 6]], lambda: store.rows(RUNS))


def test_what_both_logs_hold_of_a_trace_is_read_whole_also_by_who_comes_later(
    warehouse: EmbeddedWarehouse, store: EmbeddedStore, interpreters: list[Interpreter]
) -> None:
    arrive(warehouse, LOGS[1], [sent(trace, 1, "chat") for trace in range(1, 21)])
    until(lambda: len(store.rows(RUNS)) == 20)
    for interpreter in interpreters:
        interpreter.stop()
    # The other log's numbers are smaller than all that was read so far.
    arrive(warehouse, LOGS[0], [sent(trace, 2, "chat") for trace in range(1, 21)])
    later = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0), own_process=False)
    later.start()
    until(lambda: [row[2] for row in store.rows(RUNS)] == [2] * 20)
    assert later.wait_idle(30)
    later.stop()
    through = store.rows(
        "SELECT DISTINCT arrayMap(s -> bitShiftRight(s, 40), through) FROM canon_traces FINAL"
    )
    assert through == [[list(LOGS)]]


def test_a_log_keeps_its_number_and_no_two_have_the_same(store: EmbeddedStore, data_path: Path) -> None:
    data_path.mkdir()
    first = LogIdentity.of(data_path)
    assert first == LogIdentity.of(data_path) and 0 < first.number < 1 << 24
    first.enter(store)
    first.enter(store)
    assert store.rows("SELECT number, name FROM log_identities FINAL") == [[first.number, first.name]]
    with pytest.raises(ConfigError, match="log-number"):
        LogIdentity(first.number, "another").enter(store)
    (data_path / "log-number").write_text("none\n")
    with pytest.raises(ConfigError, match="not hold the number of a log"):
        LogIdentity.of(data_path)
    assert base_of(first.number) >> 40 == first.number
