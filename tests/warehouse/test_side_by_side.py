"""What is interpreted is written over two connections to a server as well."""

from __future__ import annotations

from contextlib import closing

from bench.long_run import LongRun, requests_of
from interpreting import emptied, living, load, settled

from retrospan.ingest.config import InterpreterSettings
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.ingest.warehouse.server import ServerWarehouse
from retrospan.ingest.warehouse.warehouse import Warehouse


def read(store: EmbeddedStore, warehouse: Warehouse) -> dict[str, list[list[object]]]:
    """Have four runs read and written over connections of this warehouse; return their rows."""
    emptied(store)
    load(store, [body for seed in range(4) for body in requests_of(LongRun(7, seed).spans(), 500)])
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0))
    interpreter.start()
    try:
        settled(interpreter)
        assert interpreter.counters.failures == interpreter.counters.broken == 0
    finally:
        interpreter.stop()
    return living(store)


def test_rows_are_the_same_over_http(warehouse: EmbeddedWarehouse, remote: ServerWarehouse) -> None:
    with closing(warehouse.connect()) as store:
        over_http = read(store, remote)
        assert len(over_http["canon_runs"]) == 4
        assert over_http == read(store, warehouse)
