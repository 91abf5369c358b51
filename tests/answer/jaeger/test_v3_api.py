"""Jaeger's `api_v3`: what comes back is OTLP's JSON, read here with OpenTelemetry's own classes."""

from __future__ import annotations

import base64
from typing import Any

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from .conftest import BEGAN, MS, SECOND, Scene

ALL = [("query.startTimeMin", "2020-01-01T00:00:00Z"), ("query.startTimeMax", "2030-01-01T00:00:00.5+02:00")]
IDS = {"traceId", "spanId", "parentSpanId"}


def message(result: Any) -> TracesData:
    """The answer as a message. OTLP's JSON has ids in hex, where protobuf's own has base64."""

    def of(value: Any) -> Any:
        if isinstance(value, list):
            return [of(each) for each in value]
        if isinstance(value, dict):
            return {
                key: base64.b64encode(bytes.fromhex(each)).decode() if key in IDS else of(each)
                for key, each in value.items()
            }
        return value

    return ParseDict(of(result), TracesData())


def spans_of(data: TracesData) -> dict[str, Span]:
    return {
        span.span_id.hex(): span
        for resource in data.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    }


def test_services_and_operations_are_listed(scene: Scene) -> None:
    assert scene.ask("/api/v3/services").body == {"services": ["shop", "stock"]}
    told = {"operations": [{"name": "GET /stock", "spanKind": "server"}]}
    assert scene.ask("/api/v3/operations", ("service", "stock")).body == told
    assert scene.ask("/api/v3/operations", ("service", "stock"), ("span_kind", "client")).body == {
        "operations": []
    }


def test_a_trace_is_what_was_sent_and_its_run(scene: Scene) -> None:
    data = message(scene.ask(f"/api/v3/traces/{scene.traces[2]}").body["result"])
    services = [
        {each.key: each.value for each in resource.resource.attributes}["service.name"].string_value
        for resource in data.resource_spans
    ]
    assert services == ["shop", "stock"]
    spans, ids = spans_of(data), scene.spans[2]
    assert spans.keys() == set(ids.values())
    root, chat, tool, called = (spans[ids[name]] for name in ("root", "chat", "tool", "called"))
    assert chat.parent_span_id == root.span_id
    assert (chat.kind, chat.start_time_unix_nano) == (Span.SPAN_KIND_CLIENT, BEGAN + 2 * SECOND + MS)
    assert chat.end_time_unix_nano - chat.start_time_unix_nano == 30 * MS
    assert (chat.events[0].name, chat.events[0].attributes[0].value.string_value) == ("said", "hi ✓")
    assert tool.links[0].span_id == chat.span_id
    assert (called.status.code, called.status.message) == (2, "out of stock")
    told = {each.key: each.value for each in root.attributes}
    assert told["huge"].int_value == 2**60
    assert (told["half"].double_value, told["whole"].double_value) == (0.5, 2.0)
    assert told["flag"].bool_value
    assert [each.string_value for each in told["words"].array_value.values] == ["a", "b"]
    assert told["retrospan.run.id"].string_value
    assert {each.key: each.value for each in tool.attributes}["retrospan.operation"].string_value == "tool"


def test_an_id_may_be_in_base64(scene: Scene) -> None:
    told = base64.urlsafe_b64encode(bytes.fromhex(scene.traces[0])).decode().rstrip("=")
    data = message(scene.ask(f"/api/v3/traces/{told}").body["result"])
    assert spans_of(data).keys() == set(scene.spans[0].values())


def test_traces_are_found_in_both_spellings(scene: Scene) -> None:
    for service, depth in (
        ("query.serviceName", "query.searchDepth"),
        ("query.service_name", "query.num_traces"),
    ):
        found = scene.ask("/api/v3/traces", *ALL, (service, "stock"), (depth, "2"))
        spans = spans_of(message(found.body["result"]))
        assert spans.keys() == {*scene.spans[2].values(), *scene.spans[1].values()}
    attributes = ("query.attributes", '{"order":"o-0"}')
    found = scene.ask("/api/v3/traces", *ALL, attributes, ("query.duration_min", "1ms"))
    assert spans_of(message(found.body["result"])).keys() == set(scene.spans[0].values())


def test_finding_nothing_is_404(scene: Scene) -> None:
    nothing = scene.ask("/api/v3/traces", *ALL, ("query.serviceName", "nobody"))
    assert (nothing.status, nothing.body) == (404, {"error": {"httpCode": 404, "message": "No traces found"}})
    assert scene.ask(f"/api/v3/traces/{'ab' * 16}").status == 404
    assert scene.ask("/api/v3/trace-summaries", *ALL, ("query.serviceName", "nobody")).body == {
        "summaries": []
    }


def test_summaries_are_what_the_search_page_shows(scene: Scene) -> None:
    found = scene.ask("/api/v3/trace-summaries", *ALL, ("query.serviceName", "shop"))
    newest, _, oldest = found.body["summaries"]
    assert newest == {
        "traceId": scene.traces[2],
        "rootServiceName": "shop",
        "rootOperationName": "invoke_agent planner",
        "minStartTimeUnixNano": str(BEGAN + 2 * SECOND),
        "maxEndTimeUnixNano": str(BEGAN + 2 * SECOND + 100 * MS),
        "spanCount": 4,
        "errorSpanCount": 1,
        "services": [
            {"name": "shop", "spanCount": 3},
            {"name": "stock", "spanCount": 1, "errorSpanCount": 1},
        ],
    }
    assert (oldest["traceId"], "errorSpanCount" in oldest) == (scene.traces[0], False)


def test_times_may_have_a_plus_that_was_not_escaped(scene: Scene) -> None:
    words = "query.start_time_min=2020-01-01T00:00:00+01:00&query.start_time_max=2030-01-01T00:00:00.123456789+01:00"
    found = scene.ask(f"/api/v3/trace-summaries?{words}")
    assert len(found.body["summaries"]) == 3


def test_calls_between_services_are_counted(scene: Scene) -> None:
    times = ("start_time", "2020-01-01T00:00:00Z"), ("endTime", "2030-01-01T00:00:00Z")
    call = {"parent": "shop", "child": "stock", "callCount": "3"}
    assert scene.ask("/api/v3/dependencies", *times).body == {"dependencies": [call]}
    before = ("end_time", "2021-01-01T00:00:00Z")
    assert scene.ask("/api/v3/dependencies", times[0], before).body == {"dependencies": []}


def test_it_says_what_a_search_can_do(scene: Scene) -> None:
    can = {"search": {"withoutServiceName": True, "sameSpanConjunction": True}}
    assert scene.ask("/api/v3/capabilities").body == can
    assert scene.ask("/api/v3/spans", *ALL).status == 501
