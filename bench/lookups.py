"""`python -m bench.lookups`: what interpreting a batch asks of the warehouse, by how much is stored; writes no page.

A warehouse of its own is filled with rows of traces and runs, with ids and histories that no others have, as those of agents
are. Then each statement that a batch of 200 traces sends is asked about others, in this process: counted is its processor
time, which must follow the batch and not the warehouse.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.table import table
from retrospan.ingest.interpret.sql import load
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.schemas.migrate import Migrations

TRACES = (10_000, 1_000_000)
BATCH, _INSERT, _REPETITIONS = 200, 100_000, 5
Values = Mapping[str, str | int | Sequence[str]]
_TRACES = """
INSERT INTO canon_traces (tenant, trace_id, run_ids, goes_on_from, ends_with, generation, through_sequence)
SELECT
    'default',
    lower(hex(sipHash128(number))),
    [lower(hex(sipHash128(number)))],
    if(number % 2 = 0, lower(hex(sipHash128(number, 1))), ''),
    if(number % 2 = 0, lower(hex(sipHash128(number, 2))), ''),
    1,
    number
FROM numbers({first:UInt64}, {rows:UInt64})
"""
_RUNS = """
INSERT INTO canon_runs (tenant, run_id, trace_ids, generation, conversation_id, started_at)
SELECT
    'default',
    lower(hex(sipHash128(number))),
    [lower(hex(sipHash128(number)))],
    1,
    if(number % 3 = 0, concat('conversation-', toString(intDiv(number, 9))), NULL),
    toDateTime64('2026-01-01', 9, 'UTC') + number
FROM numbers({first:UInt64}, {rows:UInt64})
"""


def main(words: Sequence[str] | None = None) -> int:
    """Fill, ask and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.lookups", description=__doc__)
    parser.add_argument(
        "--traces",
        type=int,
        action="append",
        metavar="N",
        help="a size; may be given again (10000 and 1000000)",
    )
    arguments = parser.parse_args(words)
    sizes = sorted(arguments.traces or TRACES)
    measured: dict[str, list[float]] = {name: [] for name in ASKED}
    with tempfile.TemporaryDirectory(prefix="retrospan-lookups-") as folder:
        warehouse = EmbeddedWarehouse(Path(folder) / "warehouse")
        store = warehouse.connect()
        Migrations(store).apply()
        there = 0
        for size in sizes:
            fill(store, there, size)
            there = size
            print(f"{size:,} traces and runs are there", file=sys.stderr, flush=True)
            for name, values in ASKED.items():
                measured[name].append(processor_ms(store, load(name), values))
        warehouse.close()
    rows = [[name, *(f"{each:.0f}" for each in taken)] for name, taken in measured.items()]
    rows.append(["all", *(f"{sum(column):.0f}" for column in zip(*measured.values(), strict=True))])
    print("\n".join(table(["milliseconds of processor", *(f"{size:,}" for size in sizes)], rows)))
    return 0


def fill(store: EmbeddedStore, first: int, end: int) -> None:
    """Insert the rows of the traces and runs from one number to another."""
    for at in range(first, end, _INSERT):
        for statement in (_TRACES, _RUNS):
            store.command(statement, {"first": at, "rows": min(_INSERT, end - at)})


def processor_ms(store: EmbeddedStore, statement: str, values: Callable[[], Values]) -> float:
    """Return the least milliseconds of processor time that a statement takes, asked about something else each time."""
    taken: list[float] = []
    for _ in range(_REPETITIONS):
        asked = dict(values())
        began = time.process_time()
        store.rows(statement, asked)
        taken.append((time.process_time() - began) * 1000)
    return min(taken)


def _ids() -> list[str]:
    return [uuid.uuid4().hex for _ in range(BATCH)]


def _of_tenant(**values: str | int | Sequence[str]) -> Values:
    return {"tenant": "default", **values}


#: What is asked once for each batch, or for each run of a conversation, with other values each time.
ASKED: dict[str, Callable[[], Values]] = {
    "traces_known": lambda: _of_tenant(trace_ids=_ids()),
    "traces_joined": lambda: _of_tenant(trace_ids=_ids(), run_ids=_ids()),
    "traces_belonging": lambda: _of_tenant(trace_ids=_ids(), claims=_ids()),
    "traces_with_histories": lambda: _of_tenant(begun=_ids(), ended=_ids(), most=51),
    "traces_retelling": lambda: _of_tenant(answers=_ids(), retold=_ids(), most=51),
    "traces_with_runs": lambda: _of_tenant(trace_ids=_ids(), run_ids=_ids()),
    "traces_overtaken": lambda: _of_tenant(trace_ids=_ids(), run_ids=_ids(), generation=1),
    "histories_of": lambda: _of_tenant(run_ids=_ids()),
    "runs_leaning": lambda: _of_tenant(conversations=_ids()),
    "previous_run": lambda: _of_tenant(
        conversation=uuid.uuid4().hex, run_id="", kept_only=0, before=2_000_000_000_000_000_000
    ),
}

if __name__ == "__main__":
    sys.exit(main())
