"""Runs of any depth, by the whole road: nothing stays unread, and nothing unread goes unsaid."""

from __future__ import annotations

import json

import pytest
from bench.deep_run import SHAPES, DeepRun
from bench.long_run import requests_of
from fix_collector import Served
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

DEEP = 3_000


def bodies_of(*runs: DeepRun) -> list[bytes]:
    return [body for run in runs for body in requests_of(run.spans(), 1_000)]


def run_of(served: Served, run_id: str) -> dict[str, object]:
    (row,) = served.rows(
        "SELECT outcome, incomplete_because, steps, model_calls, tool_calls FROM runs WHERE run_id = {run:String}",
        run=run_id,
    )
    return row


@pytest.mark.long
def test_deep_runs_of_every_kind_are_read(served: Served) -> None:
    """Finding 7: 1,000 nested model calls stayed `running` with no step for ever."""
    runs = [DeepRun(1_200, *shape, seed=seed) for seed, shape in enumerate(SHAPES.values(), start=1)]
    cycle = DeepRun(1_200, *SHAPES["mixed"], seed=99, around=True)
    served.send(bodies_of(*runs, cycle))
    served.wait_idle()
    for run, name in zip(runs, SHAPES, strict=True):
        if name not in ("plain", "outputs"):  # no work of an agent: no run
            assert run_of(served, run.run_id)["outcome"] == "ok", name
    assert run_of(served, cycle.run_id)["incomplete_because"] in ("no_root", "missing_parent", None)
    assert served.rows("SELECT * FROM interpretation_problems WHERE field = ''") == []
    health = served.health()
    assert health["interpretation_failures"] == 0
    assert health["status"] == "ok", health["reasons"]


@pytest.mark.long
def test_commands_show_a_deep_run(served: Served) -> None:
    run = DeepRun(DEEP, *SHAPES["other-tools"])
    served.send(bodies_of(run))
    served.wait_idle()
    assert run_of(served, run.run_id)["steps"] == DEEP
    assert run.run_id[:8] in served.run("runs")
    for words in (("show", run.run_id), ("trace", run.run_id), ("state", f"{run.run_id}/{DEEP}")):
        served.run(*words)
    assert served.run("show", run.run_id, "--json")


def _field(number: int, data: bytes) -> bytes:
    length, size = b"", len(data)
    while size > 0x7F:
        length += bytes([size & 0x7F | 0x80])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


def _with_nested_value(body: bytes, depth: int) -> bytes:
    """Give the first span an attribute of lists `depth` deep, by hand: the library goes no deeper than a hundred."""
    value = AnyValue(string_value="core").SerializeToString()
    for _ in range(depth):
        value = _field(5, _field(1, value))
    attribute = _field(9, _field(1, b"deep") + _field(2, value))
    request = ExportTraceServiceRequest.FromString(body)
    span = request.resource_spans[0].scope_spans[0].spans[0].SerializeToString() + attribute
    return _field(1, _field(2, _field(2, span)))


@pytest.mark.long
def test_a_value_nested_without_end_costs_its_run_nothing_else(served: Served) -> None:
    depths = (250, 5_000, 100_000)
    runs = [DeepRun(1, *SHAPES["other-tools"], seed=seed) for seed in range(1, len(depths) + 1)]
    for run, depth in zip(runs, depths, strict=True):
        (body,) = bodies_of(run)
        served.send([_with_nested_value(body, depth)])
    served.wait_idle()
    for run in runs:
        assert run_of(served, run.run_id)["outcome"] == "ok"
    problems = served.rows("SELECT field, reason FROM interpretation_problems")
    assert problems == [{"field": "deep", "reason": "nested too deeply"}] * len(depths)


@pytest.mark.long
@pytest.mark.parametrize(
    "value",
    [
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        "f(" * 50_000 + ")" * 50_000,
        json.dumps("[" * 5_000),
    ],
    ids=["lists", "objects", "printed", "quoted"],
)
def test_text_nested_without_end_costs_its_run_nothing_else(served: Served, value: str) -> None:
    keys = (
        *("gen_ai.input.messages", "retrospan.state.before", "retrospan.state.patch"),
        *("gen_ai.tool.call.arguments", "output.value"),
    )
    runs = [DeepRun(3, *SHAPES["mixed"], seed=seed) for seed in range(1, len(keys) + 1)]
    for run, key in zip(runs, keys, strict=True):
        request = ExportTraceServiceRequest.FromString(bodies_of(run)[0])
        for span in request.resource_spans[0].scope_spans[0].spans:
            span.attributes.add(key=key).value.string_value = value
        served.send([request.SerializeToString()])
    served.wait_idle()
    for run, key in zip(runs, keys, strict=True):
        assert run_of(served, run.run_id)["outcome"] == "ok", key
    assert served.health()["interpretation_failures"] == 0


@pytest.mark.soak
def test_keys_nested_without_end_cost_their_run_nothing_else(served: Served) -> None:
    """An attribute per leaf: `llm.input_messages.0.a.a.a.…`."""
    run = DeepRun(1)
    request = ExportTraceServiceRequest.FromString(bodies_of(run)[0])
    (span,) = request.resource_spans[0].scope_spans[0].spans
    span.attributes.add(key="llm.input_messages.0" + ".a" * 20_000).value.string_value = "x"
    served.send([request.SerializeToString()])
    served.wait_idle()
    assert run_of(served, run.run_id)["outcome"] == "ok"
    assert served.health()["interpretation_failures"] == 0


@pytest.mark.long
def test_traces_joined_in_a_row_are_one_run(served: Served) -> None:
    """Each trace goes on with the one before it, by a link, and is as deep as that."""
    runs = [DeepRun(300, *SHAPES["other-tools"], seed=seed) for seed in range(1, 9)]
    bodies: list[bytes] = []
    for before, run in zip([None, *runs], runs, strict=False):
        request = ExportTraceServiceRequest.FromString(bodies_of(run)[0])
        if before is not None:
            link = (
                request.resource_spans[0]
                .scope_spans[0]
                .spans[0]
                .links.add(trace_id=before.trace_id, span_id=(300).to_bytes(8, "big"))
            )
            link.attributes.add(key="retrospan.link.type").value.string_value = "continues"
        bodies.append(request.SerializeToString())
    served.send(bodies)
    served.wait_idle()
    assert run_of(served, runs[0].run_id)["steps"] == 2_400
