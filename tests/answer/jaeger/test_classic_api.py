"""Jaeger's older API, by what its JSON model says: services, operations, finding, traces, dependencies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .conftest import BEGAN, MS, SECOND, Scene

SHOP = ("service", "shop")
TRACE = {"traceID", "spans", "processes", "warnings"}
SPAN: dict[str, type] = {
    "traceID": str,
    "spanID": str,
    "flags": int,
    "operationName": str,
    "references": list,
    "startTime": int,
    "duration": int,
    "tags": list,
    "logs": list,
    "processID": str,
    "warnings": type(None),
}
VALUES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "bool": (bool,),
    "int64": (int, str),
    "float64": (float,),
    "binary": (str,),
}


def checked(trace: dict[str, Any]) -> dict[str, Any]:
    """The trace, once every member has the type of Jaeger's model."""
    assert trace.keys() == TRACE
    for span in trace["spans"]:
        assert span.keys() == SPAN.keys()
        assert all(isinstance(span[name], kind) for name, kind in SPAN.items())
        assert span["processID"] in trace["processes"]
        tags = [*span["tags"], *(tag for log in span["logs"] for tag in log["fields"])]
        assert all(isinstance(tag["value"], VALUES[tag["type"]]) for tag in tags)
        assert all(each.keys() == {"refType", "traceID", "spanID"} for each in span["references"])
    return trace


def tags_of(span: dict[str, Any]) -> dict[str, Any]:
    assert len({tag["key"] for tag in span["tags"]}) == len(span["tags"])
    return {tag["key"]: tag["value"] for tag in span["tags"]}


def test_services_and_operations_are_listed(scene: Scene) -> None:
    ask = scene.ask
    assert ask("/api/services").body == {
        "data": ["shop", "stock"],
        "total": 2,
        "limit": 0,
        "offset": 0,
        "errors": None,
    }
    assert ask("/api/services/stock/operations").body["data"] == ["GET /stock"]
    assert ask("/api/services/nobody%2F%27/operations").body["data"] == []
    assert ask("/api/operations", SHOP, ("spanKind", "client")).body["data"] == [
        {"name": "chat gpt", "spanKind": "client"}
    ]
    assert len(ask("/api/operations", SHOP).body["data"]) == 3


def test_a_trace_is_a_waterfall_with_its_run(scene: Scene) -> None:
    answer = scene.ask(f"/api/traces/{scene.traces[2]}")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    trace = checked(answer.body["data"][0])
    ids = scene.spans[2]
    root, chat, tool, called = trace["spans"]
    assert [span["spanID"] for span in trace["spans"]] == [ids[n] for n in ("root", "chat", "tool", "called")]
    assert root["references"] == []
    assert chat["references"] == [{"refType": "CHILD_OF", "traceID": scene.traces[2], "spanID": ids["root"]}]
    assert tool["references"][1] == {
        "refType": "FOLLOWS_FROM",
        "traceID": scene.traces[2],
        "spanID": ids["chat"],
    }
    assert (chat["startTime"], chat["duration"]) == ((BEGAN + 2 * SECOND + MS) // 1000, 30_000)
    assert chat["logs"] == [
        {
            "timestamp": (BEGAN + 2 * SECOND + 2 * MS) // 1000,
            "fields": [
                {"key": "event", "type": "string", "value": "said"},
                {"key": "what", "type": "string", "value": "hi ✓"},
            ],
        }
    ]
    processes = trace["processes"]
    assert processes[called["processID"]]["serviceName"] == "stock"
    assert {"key": "replicas", "type": "int64", "value": 2} in processes[root["processID"]]["tags"]
    told = tags_of(root)
    assert (told["number"], told["huge"], told["half"], told["flag"]) == (2, str(2**60), 0.5, True)
    assert json.loads(told["words"]) == ["a", "b"]
    failed = tags_of(called)
    assert failed["error"] is True
    assert (failed["otel.status_code"], failed["otel.status_description"]) == ("ERROR", "out of stock")
    assert (failed["span.kind"], failed["otel.scope.name"]) == ("server", "stock.scope")


def test_spans_say_which_run_step_and_act_they_are(scene: Scene) -> None:
    spans = scene.ask(f"/api/traces/{scene.traces[0]}").body["data"][0]["spans"]
    run = scene.rows(
        "SELECT run_id, outcome FROM runs WHERE has(trace_ids, {id:String})", id=scene.traces[0]
    )[0]
    for span in spans[:3]:
        told = tags_of(span)
        assert (told["retrospan.run.id"], told["retrospan.outcome"]) == (run["run_id"], run["outcome"])
    operations = [tags_of(span).get("retrospan.operation") for span in spans[:3]]
    assert operations == ["agent", "inference", "tool"]
    steps = {
        row["span_id"]: row["step"]
        for row in scene.rows("SELECT span_id, step FROM steps WHERE run_id = {id:String}", id=run["run_id"])
    }
    assert steps
    shown = {span["spanID"]: tags_of(span).get("retrospan.step") for span in spans}
    assert {span: step for span, step in shown.items() if step} == steps


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], [2, 1, 0]),
        ([("limit", "2")], [2, 1]),
        ([("operation", "chat gpt")], [2, 1, 0]),
        ([("operation", "GET /stock")], []),
        ([("start", str((BEGAN + SECOND) // 1000))], [2, 1]),
        ([("end", str((BEGAN + SECOND) // 1000))], [1, 0]),
        ([("end", "-5")], []),
        ([("start", "-5"), ("lookback", "custom")], [2, 1, 0]),
        ([("minDuration", "99ms"), ("maxDuration", "0.1s")], [2, 1, 0]),
        ([("minDuration", "101ms")], []),
        ([("tag", "order:o-1")], [1]),
        ([("tag", "order:o-1"), ("tag", "number:1")], []),
        ([("tags", '{"order":"o-1","gen_ai.request.model":"gpt"}')], [1]),
        ([("tags", '{"number":"2"}')], [2]),
        ([("tags", '{"whole":"2"}')], [2, 1, 0]),
        ([("tags", '{"whole":"2.0"}')], [2, 1, 0]),
        ([("tags", '{"team":"blue","flag":"true"}')], [2, 1, 0]),
        ([("tags", '{"team":"red"}')], []),
        ([("tags", '{"span.kind":"client"}')], [2, 1, 0]),
        ([("tags", '{"span.kind":"server"}')], []),
        ([("tags", '{"otel.scope.name":"shop.scope"}')], [2, 1, 0]),
        ([("tags", '{"error":"true"}')], []),
        ([("tags", '{"retrospan.operation":"tool"}')], [2, 1, 0]),
        ([("tags", '{"retrospan.step":"1"}')], [2, 1, 0]),
        ([("tags", '{"retrospan.step":"77"}')], []),
        ([("tags", '{"retrospan.outcome":"killed"}')], []),
    ],
)
def test_one_span_fulfils_all_that_is_asked(
    scene: Scene, words: list[tuple[str, str]], found: list[int]
) -> None:
    assert scene.ask.ids(SHOP, *words) == [scene.traces[number] for number in found]


def test_errors_and_runs_are_found_by_tag(scene: Scene) -> None:
    stock = ("service", "stock")
    assert scene.ask.ids(stock, ("tags", '{"error":"true"}')) == [scene.traces[2]]
    assert scene.ask.ids(stock, ("tags", '{"error":"false"}')) == [scene.traces[1], scene.traces[0]]
    assert scene.ask.ids(stock, ("tags", '{"error":"true","otel.status_code":"OK"}')) == []
    assert scene.ask.ids(stock, ("tags", '{"otel.status_description":"out of stock"}')) == [scene.traces[2]]
    run = scene.rows("SELECT run_id FROM runs WHERE has(trace_ids, {id:String})", id=scene.traces[1])
    told = json.dumps({"retrospan.run.id": run[0]["run_id"]})
    assert scene.ask.ids(SHOP, ("tags", told)) == [scene.traces[1]]


def test_traces_are_found_by_their_ids_and_missing_ones_named(scene: Scene) -> None:
    missing = "ab" * 16
    words = [("traceID", each) for each in (scene.traces[1], missing, scene.traces[0].upper())]
    answer = scene.ask("/api/traces", *words)
    assert [trace["traceID"] for trace in answer.body["data"]] == [scene.traces[1], scene.traces[0]]
    assert answer.body["errors"] == [{"msg": "trace not found", "traceID": missing}]
    lost = scene.ask(f"/api/traces/{missing}")
    assert lost.status == 404
    assert lost.body["errors"] == [{"code": 404, "msg": "trace not found"}]


def test_calls_between_services_are_counted(scene: Scene) -> None:
    end = ("endTs", str((BEGAN + 10 * SECOND) // MS))
    link = {"parent": "shop", "child": "stock", "callCount": 3}
    assert scene.ask("/api/dependencies", end, ("lookback", "60000")).body["data"] == [link]
    assert scene.ask("/api/dependencies", end, ("lookback", "9000")).body["data"] == [
        {**link, "callCount": 2}
    ]
    assert scene.ask("/api/dependencies", end, ("service", "nobody")).body["data"] == []


def test_what_is_not_here_is_said(scene: Scene) -> None:
    assert scene.ask("/api/metrics/calls", SHOP).status == 501
    assert scene.ask(f"/api/archive/{scene.traces[0]}", method="POST").status == 501
    assert scene.ask("/api/nothing").status == 404
    refused = scene.ask("/api/services", method="POST")
    assert (refused.status, refused.body["errors"][0]["code"]) == (405, 405)
