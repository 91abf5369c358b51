"""Nothing is judged before it was read: by its last span a run may be golden, and so what others lean on."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import closing

import pytest
from keeping import Keeper, agent_run, trace_of
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from retrospan.ingest.retention.policy.policy import default_policy
from retrospan.ingest.retention.policy.reading import require_read
from retrospan.schemas.errors import WarehouseUnavailable


@pytest.mark.long
def test_a_run_of_which_something_is_not_read_yet_is_not_judged_by_what_was(keeper: Keeper) -> None:
    keeper.send([agent_run("long", "incomplete"), agent_run("alone", "incomplete")])
    keeper.settle()
    waits = threading.Event()

    def hear(told: Mapping[str, object]) -> None:
        if told.get("phase") == "waiting for interpretation":
            waits.set()

    deleting = threading.Thread(
        target=lambda: keeper.retention.apply(default_policy(), hear, by="tests"), daemon=True
    )
    try:
        with keeper.interpreter.deleting("default", []):  # meanwhile no run is read
            keeper.send([agent_run("long", "golden")])
            assert keeper.loader.wait_loaded(keeper.log.durable_sequence, 60.0)
            keeper.after(31)
            deleting.start()
            assert waits.wait(30.0), "it went on with what was not read"
            assert keeper.runs() == sorted(map(trace_of, ("long", "alone")))
    finally:
        deleting.join(60.0)
    assert keeper.runs() == [trace_of("long")]


def test_where_nothing_is_read_nothing_is_deleted_and_the_reason_is_told(keeper: Keeper) -> None:
    keeper.send([agent_run("read", "ok")])
    keeper.settle()
    with keeper.interpreter.deleting("default", []), closing(keeper.warehouse.connect()) as store:
        require_read(store, lambda told: None, lambda: None)
        keeper.send([agent_run("unread", "ok")])
        assert keeper.loader.wait_loaded(keeper.log.durable_sequence, 60.0)
        with pytest.raises(WarehouseUnavailable, match=f"interpreted: 1, one of them {trace_of('unread')}"):
            require_read(store, lambda told: None, lambda: None, patience=0.0)
        require_read(store, lambda told: None, lambda: None, lambda: 1, patience=0.0)


def test_a_trace_of_log_records_alone_is_not_waited_for(keeper: Keeper) -> None:
    logs = ExportLogsServiceRequest()
    told = logs.resource_logs.add().scope_logs.add().log_records
    told.add(trace_id=bytes.fromhex(trace_of("logs alone")), time_unix_nano=1).body.string_value = "said"
    told.add(time_unix_nano=1).body.string_value = "said outside any trace"
    keeper.log.append(tenant="default", logs=logs.SerializeToString(), items=2)
    keeper.send([agent_run("read", "ok")])
    keeper.settle()
    with closing(keeper.warehouse.connect()) as store:
        require_read(store, lambda told: None, lambda: None, patience=0.0)
    keeper.after(8)
    assert keeper.plan() == sorted(map(trace_of, ("read", "logs alone")))
    assert keeper.rows("SELECT count() FROM logs") == [[2]]
