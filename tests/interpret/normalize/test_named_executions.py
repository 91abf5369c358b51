"""Executions of which nothing says that they are: a span inside a request names a tool and what it was given."""

from __future__ import annotations

from typing import Any

import pytest
from made_runs import act, chat, rows, tool

from retrospan.ingest.interpret.spans.span import Span

GIVEN = '{"city": "Oslo"}'


def told(inside: Span, /, **attributes: Any) -> Span:
    return act("", 1.2, takes=0.1, inside=inside.span_id, name="Toolkit.handle", **attributes)


def executed(*spans: Span) -> list[tuple[str, str | None]]:
    return [(call.tool_name, call.arguments) for call in rows(*spans).tool_calls]


@pytest.mark.parametrize("names", [("tool", "parameters"), ("acme.tool", "acme.args")])
def test_what_names_a_tool_inside_a_request_and_what_it_was_given_executes_it(names: tuple[str, str]) -> None:
    request = chat(1)
    span = told(request, **dict(zip(names, ("weather", GIVEN), strict=True)))
    assert executed(request, span) == [("weather", '{"city":"Oslo"}')]
    # Also where other spans of no kind lie between.
    between = act("", 1.1, takes=0.5, inside=request.span_id, name="resolve")
    span.parent_span_id = between.span_id
    assert executed(request, between, span) == [("weather", '{"city":"Oslo"}')]


def test_what_says_less_or_stands_elsewhere_executes_nothing() -> None:
    request = chat(1)
    for said in (
        {"tool": "weather"},
        {"tool": "weather", "parameters": "Oslo"},
        {"tool": "look at the weather", "parameters": GIVEN},
        {"a.tool": "weather", "b.tool": "mail", "parameters": GIVEN},
        {"parameters": GIVEN},
    ):
        assert executed(request, told(request, **said)) == []
    elsewhere = told(request, tool="weather", parameters=GIVEN)
    elsewhere.parent_span_id = "f" * 16
    assert executed(request, elsewhere) == []


def test_an_execution_that_says_what_it_is_counts_once() -> None:
    request = chat(1)
    around = told(request, tool="weather", parameters=GIVEN)
    known = tool(1.21, "weather", {"city": "Oslo"}, "snow", takes=0.05, inside=around.span_id)
    assert executed(request, around, known) == [("weather", '{"city":"Oslo"}')]
