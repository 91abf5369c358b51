"""Which spans are one run, and which of several versions of a span counts: a rule, a few spans."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, agent, chat, returned, rows, said

from retrospan.ingest.interpret.dialects.vocabulary import EVERY_FAMILY
from retrospan.ingest.interpret.grouping.grouping import claimed_runs, joined_trace
from retrospan.ingest.interpret.spans.decode import spans_of
from retrospan.ingest.interpret.spans.span import Link, Span
from retrospan.schemas.raw import RawLog, RawSpan

OTHER, OWN = "0f" * 16, "ab" * 16


def linked(span: Span, trace_id: str = OTHER, **attributes: object) -> Span:
    named = {f"retrospan.{key.replace('__', '.')}": value for key, value in attributes.items()}
    span.links = [Link(trace_id=trace_id, span_id="1" * 16, attributes=named)]
    return span


@pytest.mark.parametrize(
    ("spans", "joins"),
    [
        ([linked(act("", 1, parent_span_id=""))], OTHER),
        ([linked(act("", 1, parent_span_id=""), OWN)], ""),
        ([linked(act("", 1, parent_span_id=""), link__type="other")], ""),
        ([linked(agent())], ""),
        ([linked(agent(), link__type="continues")], OTHER),
        ([linked(agent(), OWN, link__type="continues")], ""),
        ([agent(), linked(act("", 1))], ""),
        ([agent(), linked(act("", 1), link__type="continues")], OTHER),
        ([linked(act("", 1, inside="e" * 16))], ""),
        ([linked(act("chat", 1, parent_span_id=""))], OTHER),
        ([agent()], ""),
    ],
    ids=[
        "a root links",
        "into its own trace",
        "a link of another type",
        "an agent begins something of its own",
        "unless it says that it goes on",
        "with itself",
        "a link below the root",
        "that says that it goes on",
        "its parent never came",
        "a model call",
        "no link",
    ],
)
def test_a_trace_joins_the_one_that_it_goes_on(spans: list[Span], joins: str) -> None:
    assert joined_trace(spans, EVERY_FAMILY) == joined_trace(spans[::-1], EVERY_FAMILY) == joins


def test_the_first_link_that_says_so_counts() -> None:
    late = linked(act("", 5), "0e" * 16, link__type="continues")
    assert joined_trace([late, linked(act("", 1), link__type="continues")], EVERY_FAMILY) == OTHER


def test_runs_that_spans_name_are_sorted_and_each_is_there_once() -> None:
    named = [act("", 1, retrospan__run__id=value) for value in ("b", "a", "b", "", 7)]
    assert claimed_runs([agent(), *named]) == ["a", "b"]


def raw(**more: Any) -> RawSpan:
    fields: dict[str, Any] = {
        **dict.fromkeys(RawSpan.__slots__, ""),
        **dict.fromkeys(
            (
                *("sequence", "arrived_at", "content_hash", "flags", "kind", "started_ns", "ended_ns"),
                *(
                    "dropped_attributes",
                    "dropped_events",
                    "dropped_links",
                    "resource_dropped",
                    "scope_dropped",
                ),
            ),
            0,
        ),
        **{key: [] for key in ("attributes", "events", "links", "resource_attributes", "scope_attributes")},
        "status_code": 0,
        "trace_id": OWN,
        "span_id": "1" * 16,
    }
    return RawSpan(**{**fields, **more})


def test_of_several_versions_of_a_span_the_newest_counts_then_the_one_that_ended_later() -> None:
    versions = [
        raw(name="first", sequence=1, ended_ns=9, content_hash=9),
        raw(name="ended", sequence=2, ended_ns=5, content_hash=2),
        raw(name="begun", sequence=2, ended_ns=0, content_hash=8),
    ]
    for order in (versions, versions[::-1]):
        assert [span.name for span in spans_of(order, [])] == ["ended"]
    equal = [raw(name="less", content_hash=1), raw(name="more", content_hash=2)]
    assert [span.name for span in spans_of(equal, [])] == ["more"]


def test_a_raw_span_is_decoded_field_by_field() -> None:
    (span,) = spans_of(
        [
            raw(
                started_ns=3,
                ended_ns=4,
                status_code=2,
                attributes=[("a", "string", "x"), ("n", "int", "7"), ("a", "string", "last")],
                events=[(5, "e", [("k", "bool", "true")], 0)],
                links=[(OTHER, "2" * 16, "", 0, [("retrospan.link.type", "string", "continues")], 0)],
            )
        ],
        [],
    )
    assert (span.started_at, span.ended_at, span.status) == (3, 4, "error")
    assert span.attributes == {"a": "last", "n": 7}
    assert [(event.name, event.time_ns, event.attributes) for event in span.events] == [("e", 5, {"k": True})]
    assert [(link.trace_id, link.span_id) for link in span.links] == [(OTHER, "2" * 16)]
    assert joined_trace([span], EVERY_FAMILY) == OTHER


def record(**more: Any) -> RawLog:
    fields: dict[str, Any] = {
        **dict.fromkeys(RawLog.__slots__, ""),
        **dict.fromkeys(
            (
                *("sequence", "arrived_at", "time_ns", "observed_ns", "content_hash", "severity_number"),
                *("flags", "dropped_attributes", "resource_dropped", "scope_dropped"),
            ),
            0,
        ),
        "attributes": [],
        "body": ("string", "said"),
        "trace_id": OWN,
        "span_id": "1" * 16,
    }
    return RawLog(**{**fields, **more})


def test_log_records_stand_beside_their_span_in_the_order_of_time() -> None:
    (span,) = spans_of(
        [raw()],
        [
            record(event_name="late", time_ns=9),
            record(attributes=[("event.name", "string", "named")], observed_ns=5),
            record(event_name="elsewhere", span_id="3" * 16),
            record(event_name="early", time_ns=1, observed_ns=7),
        ],
    )
    assert [(each.event, each.time_ns, each.body) for each in span.logs] == [
        ("early", 1, "said"),
        ("named", 5, "said"),
        ("late", 9, "said"),
    ]


@pytest.mark.parametrize(
    ("content", "response"),
    [
        ([{"type": "text", "text": "a"}, {"text": "b"}], "ab"),
        ([{"type": "text", "text": '{"n":'}, {"type": "text", "text": " 1}"}], {"n": 1}),
        ([{"json": {"n": 1}}], {"n": 1}),
        ([{"json": {"n": 1}}, {"json": {"n": 2}}], [{"n": 1}, {"n": 2}]),
        ([{"json": 1, "other": 2}], [{"json": 1, "other": 2}]),
        ('{"n": 1}', {"n": 1}),
        ("plain", "plain"),
    ],
)
def test_what_a_tool_said_in_blocks_is_one_result(content: object, response: object) -> None:
    told = {"role": "tool", "tool_call_id": "c1", "content": content}
    found = rows(agent(), chat(1, [said("user", "Hi"), told], "Done."))
    part = json.loads(found.values[1].json)["parts"][0]
    assert part == returned("c1", response)["parts"][0]  # type: ignore[index]
