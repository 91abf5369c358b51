"""Which spans of unknown kind execute a call that a model asked for: a rule, a small run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "Hi")
CALL = asks("search", {"q": "a"}, "c1")
ASKING = chat(1, [HI], CALL)


def work(at: float, name: str = "search", **more: Any) -> Span:
    """Return a span that says nothing of what it is."""
    return act("", at, name=name, **more)


def executed(*spans: Span) -> list[tuple[str | None, str | None, str]]:
    """Id, span and status of each tool call, in order."""
    return [(call.tool_call_id, call.span_id, call.status) for call in rows(agent(), *spans).tool_calls]


@pytest.mark.parametrize("name", ["search", "tool search", "running tool: search", "MCP tools/call search"])
def test_a_span_with_the_name_of_the_tool_is_its_execution(name: str) -> None:
    span = work(3, name)
    assert executed(ASKING, span) == [("c1", span.span_id, "ok")]
    (call,) = rows(agent(), ASKING, span).tool_calls
    assert (call.tool_name, call.asked_by, call.arguments, call.step) == ("search", 1, '{"q":"a"}', 2)


@pytest.mark.parametrize("name", ["research", "search results", "elastic.search", "POST /search", "GET"])
def test_a_name_that_only_holds_that_of_the_tool_is_not_enough(name: str) -> None:
    assert executed(ASKING, work(3, name)) == [("c1", None, "unknown")]


def test_an_attribute_may_name_the_tool() -> None:
    span = work(3, "running tool {tool_name}", tool_name="search", tool_arguments='{"q": "a"}')
    # What an attribute of that name means is only known beside the call.
    assert executed(span) == []
    assert executed(ASKING, span) == [("c1", span.span_id, "ok")]


@pytest.mark.parametrize("value", ['{"q": "a"}', "{'q': 'a'}"])
def test_arguments_tell_the_execution_from_another_try(value: str) -> None:
    span, other = work(3, any__key=value), work(4, any__key='{"q": "b"}')
    assert executed(ASKING, span, other) == [("c1", span.span_id, "ok")]
    assert executed(ASKING, span, work(4, any__key=value)) == [("c1", None, "unknown")]


@pytest.mark.parametrize(
    "spans",
    [
        [work(1.5)],
        [work(3), chat(2.5, [HI], "Well.")],
        [work(3), work(4)],
        [work(3, input='{"q": "b"}')],
        [work(3, takes=0)],
        [work(3, takes=-1)],
        [work(3), chat(1, [HI, HI], asks("search", {"q": "b"}), gen_ai__agent__name="pim")],
    ],
    ids=[
        "before the answer",
        "after the next prompt",
        "two for one",
        "other arguments",
        "a mark",
        "never ended",
        "two agents",
    ],
)
def test_where_it_is_not_certain_nothing_is_known(spans: list[Span]) -> None:
    assert all(span_id is None for _, span_id, _ in executed(ASKING, *spans))


def test_several_calls_have_their_executions_in_order() -> None:
    asking = chat(1, [HI], CALL, asks("search", {"q": "b"}, "c2"))
    first, second = work(3), work(4)
    assert executed(asking, first, second) == [("c1", first.span_id, "ok"), ("c2", second.span_id, "ok")]
    assert executed(asking, first) == [("c1", None, "unknown"), ("c2", None, "unknown")]
    told = work(3, any__key='{"q": "b"}'), work(4, any__key='{"q": "a"}')
    assert executed(asking, *told) == [("c2", told[0].span_id, "ok"), ("c1", told[1].span_id, "ok")]
    twice = chat(1, [HI], CALL, asks("search", {"q": "a"}, "c2"))
    same = work(3, any__key='{"q": "a"}'), work(4, any__key='{"q": "a"}')
    assert executed(twice, *same) == [("c1", same[0].span_id, "ok"), ("c2", same[1].span_id, "ok")]


def test_the_outermost_of_spans_inside_each_other_is_the_execution() -> None:
    outer = work(3, takes=3)
    inner = work(4, "tools/call search", inside=outer.span_id)
    assert executed(ASKING, outer, inner) == [("c1", outer.span_id, "ok")]


def test_a_span_whose_answer_never_came_executes_no_other_call() -> None:
    lost = [said("assistant", CALL), returned("c1", 1), said("assistant", asks("search", {"q": "b"}, "c2"))]
    span = work(3)
    again = chat(9, [HI, *lost, returned("c2", 2)], "Done.")
    assert executed(ASKING, span, again) == [("c1", None, "ok")]
    assert executed(ASKING, span, chat(9, [HI, *lost[:2]], "Done.")) == [("c1", span.span_id, "ok")]


def test_what_the_next_prompt_was_told_is_the_result_else_what_the_span_says() -> None:
    span = work(3, vendor__output='{"n": 1, "raw": true}')
    again = chat(5, [HI, said("assistant", CALL), returned("c1", {"n": 1})], "Done.")
    for spans, expected in (
        ([span, again], ({"n": 1}, "message")),
        ([span], ({"n": 1, "raw": True}, "span")),
    ):
        (call,) = rows(agent(), ASKING, *spans).tool_calls
        assert (json.loads(call.result or "null"), call.result_source) == expected
    failed = work(3, error="Locked")
    (call,) = rows(agent(), ASKING, failed, again).tool_calls
    assert (call.status, call.error_type) == ("error", "Locked")


def test_what_takes_no_time_inside_an_execution_only_says_what_happened_to_it() -> None:
    ran = tool(3, "search", {"q": "a"}, error="locked", span_id=f"{2:016x}")
    noted = act("execute_tool", 3.5, takes=0, name="error", inside=f"{2:016x}", tool__input="{}")
    assert [call.tool_name for call in rows(agent(), ran, noted).tool_calls] == ["search"]
    noted.ended_at += 1
    assert [call.tool_name for call in rows(agent(), ran, noted).tool_calls] == ["search", "error"]
    named = tool(3.5, "lock", takes=0, inside=f"{2:016x}")
    assert [call.tool_name for call in rows(agent(), ran, named).tool_calls] == ["search", "lock"]
