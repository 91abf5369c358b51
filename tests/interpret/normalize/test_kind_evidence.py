"""The attribute that tells the kinds of spans, found among all attributes by what it says over all spans."""

from __future__ import annotations

import json

import pytest
from made_spans import make_span

from retrospan.ingest.interpret.run import read_spans
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Span

ASKED = json.dumps([{"role": "user", "content": "Where is my parcel?"}])
ANSWER = json.dumps({"role": "assistant", "content": "In Oslo."})


def operations(*spans: Span) -> list[str]:
    return [span.operation for span in read_spans(spans, ParseIssues())]


def test_kinds_are_told_by_whatever_attribute_tells_them_of_all_spans() -> None:
    spans = [make_span({"f7": kind}) for kind in ("LLM", "TOOL", "AGENT", "generation", "span")]
    assert sorted(operations(*spans)) == ["agent", "inference", "inference", "other", "tool"]


def test_a_chain_is_a_workflow_or_a_step_of_one() -> None:
    spans = [
        make_span({"f7": "chain"}),
        make_span({"f7": "chain"}, parent_span_id="1" * 16),
        make_span({"f7": "llm"}),
    ]
    assert sorted(operations(*spans)) == ["inference", "step", "workflow"]


@pytest.mark.parametrize(
    "other", ["gold", 7, None, "a text that is far longer than any word for a kind of span"]
)
def test_an_attribute_that_says_anything_else_somewhere_tells_no_kinds(other: object) -> None:
    spans = [make_span({"f7": kind}) for kind in ("LLM", "TOOL", other)]
    wanted = ["inference", "other", "tool"] if other is None else ["other"] * 3
    assert sorted(operations(*spans)) == wanted


def test_without_a_model_call_it_takes_two_kinds() -> None:
    assert operations(make_span({"f7": "tool"}), make_span({"f7": "agent"})) == ["tool", "agent"]
    assert operations(make_span({"f7": "tool"}), make_span({"f7": "tool"})) == ["other", "other"]
    assert operations(make_span({"f7": "tool"}), make_span({"f7": "carpet"})) == ["other", "other"]


def test_each_instrumentation_has_an_attribute_of_its_own() -> None:
    spans = [
        make_span({"f7": "llm"}, scope="a"),
        make_span({"f7": "tool"}, scope="a"),
        make_span({"f7": "tool"}, scope="b"),
    ]
    assert sorted(operations(*spans)) == ["inference", "other", "tool"]


@pytest.mark.parametrize(
    ("value", "operation"), [(ASKED, "inference"), (ANSWER, "inference"), ("in Oslo", "other")]
)
def test_one_kind_alone_needs_a_request_or_a_response_beside_it(value: str, operation: str) -> None:
    assert operations(make_span({"f7": "llm", "f8": value})) == [operation]


def test_a_kind_that_is_named_stays() -> None:
    spans = [
        make_span({"gen_ai.operation.name": "invoke_agent", "f7": "tool"}),
        make_span({"f7": "llm"}),
        make_span({"f7": "agent"}),
    ]
    assert sorted(operations(*spans)) == ["agent", "agent", "inference"]
