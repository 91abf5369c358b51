"""Objects of which the end was cut off, and what log records tell that were cut so."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from made_spans import make_span, text
from spans import read_run

from retrospan.ingest.interpret.normalize.cut_objects import whole_members
from retrospan.ingest.interpret.spans.span import LogRecord

_REQUEST = {
    "model": "claude-sonnet-4-5",
    "messages": [{"role": "user", "content": [{"type": "text", "text": 'Weather "now"?'}]}],
    "system": [{"type": "text", "text": "Be brief."}],
    "tools": [{"name": "look", "description": "x" * 500, "input_schema": {"type": "object"}}],
}
_MARK = "\n\n[TRUNCATED - Content exceeds 60KB limit]"


def test_every_cut_leaves_the_members_before_it() -> None:
    whole = json.dumps(_REQUEST)
    for end in range(1, len(whole)):
        for mark in ("", _MARK):
            found = whole_members(whole[:end] + mark) or {}
            ends = {
                name: whole.index(json.dumps(value)) + len(json.dumps(value))
                for name, value in _REQUEST.items()
            }
            assert found == {name: value for name, value in _REQUEST.items() if ends[name] < end}


@pytest.mark.parametrize(
    "said",
    [json.dumps(_REQUEST), json.dumps(_REQUEST) + " and more", '{"a": 1} {"b": 2', "{", "[1, 2", "hello", ""],
)
def test_what_is_not_cut_or_not_an_object_is_none(said: str) -> None:
    assert whole_members(said) is None


def test_a_cut_that_nests_too_deeply_is_not_read() -> None:
    assert whole_members('{"a": ' + "[" * 100_000) is None
    assert whole_members('{"a": ' + "[" * 300 + "]" * 300 + ', "b": "') is None


def _call(body: str) -> Any:
    around = make_span({"span.type": "interaction"}, "interaction")
    request = make_span(
        {
            "gen_ai.request.model": "claude-sonnet-4-5",
            "input_tokens": 5,
            "output_tokens": 2,
            "span.type": "llm_request",
        },
        "llm_request",
        parent_span_id=around.span_id,
    )
    record = LogRecord(
        event="acme.api_request_body",
        time_ns=request.started_at,
        body="acme.api_request_body",
        attributes={"body": body, "body_truncated": "true"},
        order=(1, 1, "a"),
    )
    (call,) = read_run("r", [replace(around, logs=[record]), request]).calls.models
    return call


def test_a_request_cut_after_its_messages_says_what_was_asked() -> None:
    body = json.dumps(_REQUEST)
    call = _call(body[: body.index("x" * 9) + 100] + _MARK)
    assert call.input == [text("user", 'Weather "now"?')]
    assert [part["content"] for part in call.span.system] == ["Be brief."]


def test_a_request_cut_among_its_messages_says_nothing() -> None:
    body = json.dumps(_REQUEST)
    assert _call(body[: body.index("now")] + _MARK).input == []
