"""The kit's scorer: a fact is asked if a reader could know it from the bytes, and only then."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from fix_recordings import Recording
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from recordings.record import said
from recordings.record.facts import Fact, Views, facts_of
from recordings.record.in_bytes import Bytes

ARGUMENTS = {"query": "refund policy", "top_k": 2}
RESULT = {"title": "Refunds", "days": 30}
OFFERED = {
    "type": "function",
    "function": {"name": "search_docs", "description": "Search.", "parameters": {}},
}


def _recording(*spans: Mapping[str, str], truth: tuple[dict[str, Any], ...] = ()) -> Recording:
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for attributes in spans:
        span = scope.spans.add(name="step", trace_id=b"t" * 16, span_id=b"s" * 8)
        for key, value in attributes.items():
            span.attributes.add(key=key).value.string_value = value
    expected = {
        "user_turns": [],
        "final_answers": [],
        "request_model": "m",
        "response_model": "m",
        "tool_names_in_order": [],
        "tool_args_in_order": [],
        "tool_call_ids_in_order": [],
    }
    return Recording(
        "made/normal", (request.SerializeToString(),), (), expected, list(truth), off_script=True
    )


@pytest.mark.parametrize(
    "written",
    [
        '{"query": "refund policy", "top_k": 2}',
        "{'query': 'refund policy', 'top_k': 2}",
        "search_docs(query='refund policy', top_k=2)",
        '"{\\"query\\": \\"refund policy\\", \\"top_k\\": 2}"',
        "<query>refund policy</query><top_k>2</top_k>",
        '[["query", "refund policy"], ["top_k", 2]]',
        '[{"key": "query", "value": {"stringValue": "refund policy"}}, {"key": "top_k", "value": {"intValue": "2"}}]',
        'fields { key: "query" value { string_value: "refund policy" } } fields { key: "top_k" value { number_value: 2.0 } }',
    ],
)
def test_arguments_are_there_however_they_are_written(written: str) -> None:
    assert Bytes(_recording({"input": written})).hold(ARGUMENTS)


@pytest.mark.parametrize(
    "written",
    [
        '{"properties": {"query": {"type": "string"}, "top_k": {"type": "integer"}}} The refund policy has 2 parts.',
        '{"title": "refund policy", "query": "shipping", "top_k": 2}',
    ],
)
def test_a_value_elsewhere_is_not_an_argument(written: str) -> None:
    assert not Bytes(_recording({"input": written})).hold(ARGUMENTS)


@pytest.mark.parametrize(
    "attributes",
    [
        {"tool.name": "search_docs"},
        {"output": '{"tool_calls": [{"function": {"name": "search_docs", "arguments": "{}"}}]}'},
        {"tools": '[{"name": "search_docs", "args": {"query": "refund policy"}, "result": "…"}]'},
        {"prompt": "You may use search_docs(query)."},
    ],
)
def test_a_name_in_a_call_or_in_any_text_is_told(attributes: Mapping[str, str]) -> None:
    assert Bytes(_recording(attributes)).name_called("search_docs")


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.request.tools": json.dumps([json.dumps([OFFERED])])},
        {"request": json.dumps({"tools": [OFFERED], "tool_choice": "auto"})},
        {"agent.tools": '["search_docs", "send_email"]'},
        {"request": '{"tools": ["/tool/search_docs"]}'},
    ],
)
def test_a_name_among_those_that_are_offered_is_not_told_as_called(attributes: Mapping[str, str]) -> None:
    assert not Bytes(_recording(attributes)).name_called("search_docs")


def _asked(attributes: Mapping[str, str], **row: str | None) -> dict[str, Fact]:
    """The facts that are asked of one tool that ran, if a reader lists this row."""
    tool = {"kind": "tool", "tool": "search_docs", "args": ARGUMENTS, "result": RESULT, "error": None}
    empty = dict.fromkeys(("tool_name", "tool_call_id", "arguments", "result", "status"))
    views = Views((), (), [{**empty, "tool_name": "", **row}] if row else [])
    facts = facts_of(_recording(attributes, truth=(tool,)), views)
    return {
        fact.name: fact
        for fact in facts
        if fact.is_known and fact.name.startswith(("tool", "number of tool"))
    }


def test_that_a_named_tool_ran_is_asked_though_its_arguments_are_kept_out() -> None:
    facts = _asked({"tool.name": "search_docs"}, tool_name="search_docs", status="ok")
    assert {name: fact.holds for name, fact in facts.items()} == {
        "number of tool calls": True,
        "tool names in order": True,
        "tool status 0": True,
    }
    assert not _asked({"tool.name": "search_docs"})["number of tool calls"].holds


def test_a_tool_that_is_only_offered_is_known_by_what_it_returned() -> None:
    attributes = {"tools": json.dumps([OFFERED]), "prompt": json.dumps({"role": "tool", "content": RESULT})}
    missed = _asked(attributes)
    assert {name: fact.holds for name, fact in missed.items()} == {
        "tool result 0": False,
        "tool status 0": False,
    }
    found = _asked(attributes, result=json.dumps(RESULT), status="ok")
    assert found.keys() == missed.keys()
    assert all(fact.holds for fact in found.values())


def test_of_a_tool_that_left_nothing_nothing_is_asked() -> None:
    assert _asked({"tools": json.dumps([OFFERED])}) == {}


def test_an_empty_result_is_there_if_something_that_may_be_a_result_is_empty() -> None:
    assert Bytes(_recording({"tool.result": "[]"})).hold([])
    assert not Bytes(_recording({"run.tags": "[]", "tool.name": "search_docs"})).hold([])


@pytest.mark.parametrize(
    ("response", "returned"),
    [
        # Genkit's client puts the tool's name beside what it returned after its span was written.
        ({"name": "search_docs", "content": RESULT}, RESULT),
        ({"name": "Refunds", "content": RESULT}, {"name": "Refunds", "content": RESULT}),
        ({"name": "search_docs", "days": 30}, {"name": "search_docs", "days": 30}),
        (RESULT, RESULT),
    ],
)
def test_what_a_client_wraps_on_its_way_to_the_api_is_what_the_tool_returned(
    response: Any, returned: Any
) -> None:
    part = {"functionResponse": {"name": "search_docs", "response": response}}
    assert said.told({"contents": [{"role": "user", "parts": [part]}]}, {}) == [("tool", "result", returned)]
