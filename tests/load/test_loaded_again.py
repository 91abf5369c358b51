"""Records that are loaded again are not counted again: after a rebuild, without a ledger, within one insert."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import otlp_requests as make
import pytest
from fix_collector import Served
from keeping import Keeper, agent_run, trace_of

from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse


@pytest.mark.parametrize(
    "how",
    [
        pytest.param("rebuild", marks=pytest.mark.soak),
        pytest.param("rebuild after a start", marks=pytest.mark.soak),
        pytest.param("ledger lost", marks=pytest.mark.long),
    ],
)
def test_spans_that_are_loaded_again_are_there_once(served: Served, how: str) -> None:
    spans = [make.span(f"chat {number}") for number in range(200)]
    served.send(traces=[make.traces(*spans).SerializeToString()])
    served.wait_idle()
    asked = "SELECT count() AS n, uniqExact(trace_id, span_id) AS u, max(variants) AS v FROM spans"
    before = served.rows(asked)
    assert before == [{"n": 200, "u": 200, "v": 1}]
    if how != "rebuild":
        assert served.stop() == 0
        if how == "ledger lost":
            (served.data / "log" / "batches.jsonl").unlink()
        served.start()
    if how != "ledger lost":
        served.run("rebuild")
    served.wait_idle()
    assert served.rows(asked) == before
    # What comes after it is noted in the usual way.
    served.send(traces=[make.traces(*spans[:50]).SerializeToString()])
    served.wait_idle()
    assert served.rows(asked) == before


@pytest.fixture
def keeper(warehouse: EmbeddedWarehouse, tmp_path: Path) -> Iterator[Keeper]:
    made = Keeper(warehouse, tmp_path, interprets=False)
    yield made
    made.close()


@pytest.mark.long
def test_a_log_that_is_an_older_copy_than_the_warehouse_is_told(
    warehouse: EmbeddedWarehouse, tmp_path: Path
) -> None:
    def sent(directory: Path, *names: str) -> str:
        keeper = Keeper(warehouse, directory, interprets=False)
        for name in names:
            keeper.send([agent_run(name, "ok")])
            assert keeper.loader.wait_loaded(keeper.log.durable_sequence, 60.0)
        told = keeper.loader.chains.complaint
        keeper.close()
        return told

    assert sent(tmp_path / "data", "first") == ""
    shutil.copytree(tmp_path / "data", tmp_path / "copy")
    assert sent(tmp_path / "data", "second", "third") == ""
    assert sent(tmp_path / "data") == ""
    assert "holds records up to 3 of epoch 1, but log/batches.jsonl knows of 1" in sent(tmp_path / "copy")


@pytest.mark.long
def test_a_span_that_comes_twice_in_one_large_insert_is_there_once(keeper: Keeper) -> None:
    others = [agent_run(f"other-{number}", "ok") for number in range(60_000)]
    requests = [agent_run("twice", "ok", said="first"), *others, agent_run("twice", "ok", said="last")]
    # One record, so it is one insert.
    keeper.send(requests, together=len(requests))
    assert keeper.loader.wait_loaded(keeper.log.durable_sequence, 120.0)
    asked = "SELECT count(), uniqExact(span_id), max(variants) FROM spans WHERE trace_id = {trace:String}"
    assert keeper.rows(asked, trace=trace_of("twice")) == [[2, 2, 2]]
