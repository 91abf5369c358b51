"""What is interpreted is written over two connections to a server as well."""

from __future__ import annotations

from bench.long_run import LongRun, requests_of
from interpreting import read_anew

from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.ingest.warehouse.server import ServerWarehouse


def test_rows_are_the_same_over_http(
    store: EmbeddedStore, warehouse: EmbeddedWarehouse, remote: ServerWarehouse
) -> None:
    bodies = [body for seed in range(4) for body in requests_of(LongRun(7, seed).spans(), 500)]
    over_http = read_anew(store, remote, bodies)
    assert len(over_http["canon_runs"]) == 4
    assert over_http == read_anew(store, warehouse, bodies)
