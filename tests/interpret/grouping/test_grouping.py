"""Which spans are one run: by trace, by link, by the run that spans name; the same whatever arrives first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import pytest
from fix_recordings import Recording
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from sampling import one_in

from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.load.landing import insert_records
from retrospan.ingest.log.record import encode
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse

_SEQUENCES = itertools.count(1)


@pytest.fixture
def interpreter(warehouse: EmbeddedWarehouse) -> Iterator[Interpreter]:
    running = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0))
    running.start()
    yield running
    running.stop()


def _request(
    trace: int,
    span: int,
    name: str,
    parent: int = 0,
    link: tuple[int, int] | None = None,
    link_type: str = "",
    attributes: Mapping[str, str] | None = None,
) -> bytes:
    """An export request with one span; ids are small numbers, the span's number is also its second."""
    request = ExportTraceServiceRequest()
    sent = (
        request.resource_spans.add()
        .scope_spans.add()
        .spans.add(
            trace_id=trace.to_bytes(16, "big"),
            span_id=span.to_bytes(8, "big"),
            parent_span_id=parent.to_bytes(8, "big") if parent else b"",
            name=name,
            start_time_unix_nano=span * 10**9,
            end_time_unix_nano=span * 10**9 + 5,
            attributes=[
                KeyValue(key=key, value=AnyValue(string_value=value))
                for key, value in (attributes or {}).items()
            ],
        )
    )
    if link is not None:
        made = sent.links.add(trace_id=link[0].to_bytes(16, "big"), span_id=link[1].to_bytes(8, "big"))
        if link_type:
            made.attributes.add(key="retrospan.link.type", value=AnyValue(string_value=link_type))
    return request.SerializeToString()


def _load(store: EmbeddedStore, interpreter: Interpreter, body: bytes) -> None:
    sequence = next(_SEQUENCES)
    parts, _ = encode(arrived_at=sequence, sequence=sequence, tenant="default", traces=body)
    insert_records(store, b"".join(parts), f"grouping-{sequence}")
    interpreter.notice(sequence, sequence)
    assert interpreter.wait_idle(30)


def _runs(store: EmbeddedStore) -> list[list[object]]:
    """Return (run id's number, its traces' numbers, steps, outcome) of the runs that readers see."""
    rows = store.rows(
        "SELECT run_id, trace_ids, steps, outcome FROM canon_runs FINAL WHERE NOT deleted ORDER BY run_id"
    )
    return [[int(str(run), 16), [int(str(t), 16) for t in traces], *rest] for run, traces, *rest in rows]  # type: ignore[attr-defined]


_CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
_TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}
_AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}


@pytest.mark.parametrize("order", one_in(3, itertools.permutations(range(3))))
def test_a_trace_whose_root_links_into_a_run_is_part_of_it_in_any_order(
    order: tuple[int, ...], store: EmbeddedStore, interpreter: Interpreter
) -> None:
    bodies = [
        _request(1, 10, "agent", attributes=_AGENT),
        _request(2, 11, "process message", link=(1, 10), attributes=_CHAT),
        _request(3, 12, "process message", link=(2, 11), attributes=_TOOL),
    ]
    for index in order:
        _load(store, interpreter, bodies[index])
    assert _runs(store) == [[1, [1, 2, 3], 2, "ok"]]
    names = store.rows(
        "SELECT agent_name FROM canon_steps WHERE (run_id, generation) IN (SELECT run_id, generation FROM canon_runs FINAL)"
    )
    assert names == [["a"], ["a"]]


@pytest.mark.long
def test_an_agent_of_its_own_is_a_run_of_its_own_though_it_links(
    store: EmbeddedStore, interpreter: Interpreter
) -> None:
    _load(store, interpreter, _request(1, 10, "agent", attributes=_AGENT))
    _load(store, interpreter, _request(2, 11, "agent", link=(1, 10), attributes=_AGENT))
    assert [run[0] for run in _runs(store)] == [1, 2]
    _load(
        store, interpreter, _request(3, 12, "agent", link=(1, 10), link_type="continues", attributes=_AGENT)
    )
    assert [run[:2] for run in _runs(store)] == [[1, [1, 3]], [2, [2]]]


@pytest.mark.parametrize("order", [(0, 1), pytest.param((1, 0), marks=pytest.mark.long)])
def test_a_trace_that_names_the_run_of_another_is_part_of_it_in_any_order(
    order: tuple[int, ...], store: EmbeddedStore, interpreter: Interpreter
) -> None:
    bodies = [
        _request(1, 10, "agent", attributes=_AGENT),
        _request(2, 11, "chat", attributes={**_CHAT, "retrospan.run.id": f"{1:032x}"}),
    ]
    for index in order:
        _load(store, interpreter, bodies[index])
    assert _runs(store) == [[1, [1, 2], 1, "ok"]]
    assert store.rows("SELECT aliases, joined_by FROM canon_runs FINAL WHERE NOT deleted") == [
        [[f"{2:032x}"], ["run_id"]]
    ]


def test_links_to_what_is_not_a_run_merge_nothing(store: EmbeddedStore, interpreter: Interpreter) -> None:
    _load(store, interpreter, _request(1, 10, "POST /orders"))
    _load(store, interpreter, _request(2, 11, "consume", link=(1, 10), attributes=_CHAT))
    _load(store, interpreter, _request(3, 12, "consume", link=(1, 10), attributes=_CHAT))
    assert [run[:2] for run in _runs(store)] == [[2, [2]], [3, [3]]]


@pytest.mark.long
def test_spans_that_name_a_run_are_that_run_with_all_below_them(
    store: EmbeddedStore, interpreter: Interpreter
) -> None:
    named = {"retrospan.run.id": "ff"}
    _load(store, interpreter, _request(1, 10, "agent", attributes={**_AGENT, **named}))
    _load(store, interpreter, _request(1, 11, "chat", parent=10, attributes=_CHAT))
    _load(store, interpreter, _request(2, 12, "chat", attributes={**_CHAT, **named}))
    _load(store, interpreter, _request(3, 13, "chat", attributes=_CHAT))
    assert [run[:3] for run in _runs(store)] == [[3, [3], 1], [255, [1, 2], 2]]


def test_recordings_stay_one_run_a_trace(
    recordings: dict[str, Recording], store: EmbeddedStore, interpreter: Interpreter
) -> None:
    for body in recordings["langgraph-openinference/multiturn"].traces:
        _load(store, interpreter, body)
    assert len(store.rows("SELECT run_id FROM canon_runs FINAL WHERE NOT deleted")) == 2
