"""Which execution belongs to which call that a model asked for, and what each call returned: a rule, a small run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "Hi")


def pairs(*spans: Span) -> list[tuple[str, int | None, str]]:
    """Name, the model call that asked, and how it ended, of each tool call in order."""
    return [(call.tool_name, call.asked_by, call.status) for call in rows(agent(), *spans).tool_calls]


def results(found: Rows) -> list[tuple[object, str | None, str]]:
    return [
        (json.loads(call.result) if call.result else None, call.result_source, call.status)
        for call in found.tool_calls
    ]


def test_an_execution_is_never_paired_with_a_call_made_later() -> None:
    late = chat(10, [HI], asks("search", {"q": "a"}))
    assert pairs(tool(5, arguments={"q": "a"}), late) == [
        ("search", None, "ok"),
        ("search", 1, "unknown"),
    ]


def test_an_execution_may_begin_the_moment_the_answer_that_asks_for_it_ends() -> None:
    asking = chat(1, [HI], asks("search", {"q": "a"}))
    assert pairs(asking, tool(2, arguments={"q": "a"})) == [("search", 1, "ok")]
    assert pairs(asking, tool(1.9, arguments={"q": "a"}))[0] == ("search", None, "ok")


def test_equal_arguments_go_before_the_order() -> None:
    first = chat(1, [HI], asks("search", {"q": "a"}))
    second = chat(3, [HI], asks("search", {"q": "b"}))
    assert pairs(first, second, tool(5, arguments={"q": "b"}), tool(7, arguments={"q": "a"})) == [
        ("search", 2, "ok"),
        ("search", 1, "ok"),
    ]


def test_without_equal_arguments_the_name_and_the_order_decide() -> None:
    first = chat(1, [HI], asks("search", {"q": "a"}))
    second = chat(3, [HI], asks("search", {"q": "b"}))
    assert pairs(first, second, tool(5), tool(7)) == [("search", 1, "ok"), ("search", 2, "ok")]
    assert pairs(first, second, tool(5, arguments={"q": "c"}), tool(7, arguments={"q": "d"})) == [
        ("search", 1, "ok"),
        ("search", 2, "ok"),
    ]


def test_a_call_of_unknown_arguments_goes_before_one_that_asked_with_others() -> None:
    asking = chat(1, [HI], asks("search", {"q": "a"}, "c1"), asks("search"))
    found = rows(agent(), asking, tool(5, arguments={"q": "b"})).tool_calls
    assert [(call.tool_call_id, call.arguments, call.status) for call in found] == [
        ("c1", '{"q":"a"}', "unknown"),
        (None, '{"q":"b"}', "ok"),
    ]


@pytest.mark.parametrize(
    ("own", "told", "expected", "doubts"),
    [
        ("run-7", "c1", "c1", 0),  # an id of the framework's own, which no message knows
        ("run-7", "run-7", "run-7", 1),  # the model was told so
        ("run-7", None, "run-7", 1),  # nothing was told under either
        ("0198a3c5-1111-4222-8333-0123456789ab", None, "c1", 0),  # made up, as its form tells
        ("c1", "c1", "c1", 0),
    ],
)
def test_the_id_of_a_call_is_the_one_that_messages_know(
    own: str, told: str | None, expected: str, doubts: int
) -> None:
    call = asks("search", {"q": "a"}, "c1")
    after = [said("assistant", call), returned(told, {"n": 1})] if told else []
    ran = tool(3, arguments={"q": "a"}, result={"n": 1}, gen_ai__tool__call__id=own)
    found = rows(agent(), chat(1, [HI], call), ran, chat(5, [HI, *after], "Done."))
    assert [row.tool_call_id for row in found.tool_calls] == [expected]
    assert [problem.field for problem in found.problems].count("tool_call_id") == doubts


def test_an_id_goes_before_arguments_and_order_and_may_be_executed_again() -> None:
    asking = chat(1, [HI], asks("search", {"q": "a"}, "c1"), asks("search", {"q": "b"}, "c2"))
    by_id = [
        tool(at, arguments={"q": "a"}, gen_ai__tool__call__id=call_id)
        for at, call_id in ((3, "c2"), (5, "c1"), (7, "c2"))
    ]
    calls = rows(agent(), asking, *by_id).tool_calls
    assert [(call.tool_call_id, call.asked_by) for call in calls] == [("c2", 1), ("c1", 1), ("c2", 1)]


def test_a_tool_goes_by_the_name_that_the_model_knows() -> None:
    asking = chat(1, [HI], asks("search", {"q": "a"}))
    assert pairs(asking, tool(3, "web/search", {"q": "a"})) == [("search", 1, "ok")]
    assert pairs(asking, tool(3, "research", {"q": "a"})) == [
        ("search", 1, "unknown"),
        ("research", None, "ok"),
    ]


def test_the_very_name_goes_before_one_with_an_origin() -> None:
    longer = chat(1, [HI], asks("web.search", {"q": "a"}))
    asking = chat(3, [HI], asks("search", {"q": "a"}))
    assert pairs(longer, asking, tool(5, "search", {"q": "a"})) == [
        ("web.search", 1, "unknown"),
        ("search", 2, "ok"),
    ]


@pytest.mark.parametrize(
    ("more", "answered", "expected"),
    [
        ({"result": {"n": 1}}, {"n": 2}, ({"n": 1}, "span", "ok")),
        ({}, {"n": 2}, ({"n": 2}, "message", "ok")),
        ({"error": "Locked"}, {"n": 2}, ({"n": 2}, "message", "error")),
        ({"error": "GraphInterrupt"}, {"n": 2}, (None, None, "incomplete")),
    ],
    ids=["the span says", "only the message says", "it failed", "it was interrupted"],
)
def test_a_result_is_the_span_s_else_the_one_that_the_next_prompt_tells(
    more: dict[str, Any], answered: object, expected: tuple[object, str | None, str]
) -> None:
    call = asks("search", {"q": "a"}, "c1")
    found = rows(
        agent(),
        chat(1, [HI], call),
        tool(3, arguments={"q": "a"}, gen_ai__tool__call__id="c1", **more),
        chat(5, [HI, said("assistant", call), returned("c1", answered)], "Done."),
    )
    assert results(found) == [expected]


def test_a_result_without_an_execution_shows_that_there_was_one() -> None:
    call = asks("search", {"q": "a"}, "c1")
    found = rows(
        agent(),
        chat(1, [HI], call),
        chat(5, [HI, said("assistant", call), returned("c1", {"n": 2})], "Done."),
    )
    assert results(found) == [({"n": 2}, "message", "ok")]


def test_a_call_without_a_trace_is_denied_only_where_a_later_prompt_rules_it_out() -> None:
    call = asks("search", {"q": "a"}, "c1")
    asking = chat(1, [HI], call)
    # The next prompt tells of the call and of no result: there was none.
    repeated = chat(3, [HI, said("assistant", call), said("user", "Never mind")], "Well.")
    assert pairs(asking, repeated) == [("search", 1, "not_executed")]
    # Without an id its result may be any: only one that follows right after the call is its own.
    nameless = asks("search", {"q": "a"})
    for more, status in (([said("user", "Never mind")], "unknown"), ([returned(None, {"n": 1})], "ok")):
        again = chat(3, [HI, said("assistant", nameless), *more], "Well.")
        assert pairs(chat(1, [HI], nameless), again) == [("search", 1, status)]
    # What we rebuild of a history is not evidence of what the model was told.
    first = chat(1, [HI], call, gen_ai__response__id="r1")
    follows = chat(3, [said("user", "Go on")], "Well.", gen_ai__request__previous_response__id="r1")
    assert pairs(first, follows) == [("search", 1, "unknown")]
    # Nothing later tells of it either way.
    assert pairs(asking) == [("search", 1, "unknown")]
    assert pairs(asking, chat(3, [HI], "Well.")) == [("search", 1, "unknown")]
    unfinished = agent(takes=-1)
    assert rows(unfinished, asking).tool_calls[0].status == "unknown"


def test_a_call_whose_neighbour_has_its_result_in_the_next_prompt_is_not_denied() -> None:
    """A message of several results may be told by its last one: APIs take no prompt that lacks one."""
    both = asks("search", {"q": "a"}, "c1"), asks("search", {"q": "b"}, "c2")
    told = chat(3, [HI, said("assistant", *both), returned("c2", {"n": 1})], "Well.")
    assert pairs(chat(1, [HI], *both), told) == [("search", 1, "unknown"), ("search", 1, "ok")]
    # What another answer asked for says nothing of this one.
    earlier = [HI, said("assistant", asks("search", {"q": "z"}, "c0")), returned("c0", {"n": 1})]
    repeated = chat(3, [*earlier, said("assistant", both[0]), said("user", "Never mind")], "Well.")
    assert pairs(chat(1, earlier, both[0]), repeated) == [("search", 1, "not_executed")]


def test_a_call_without_a_trace_may_have_happened_where_the_run_broke_off_right_there() -> None:
    asking = chat(1, [HI], asks("search", {"q": "a"}, "c1"))
    paused = tool(3, "confirm", error="GraphInterrupt")
    assert pairs(asking, paused)[0] == ("search", 1, "incomplete")
    assert pairs(asking, chat(2, [HI], "Well."), paused)[0] == ("search", 1, "unknown"), "the agent went on"
    # Another agent's later call says nothing about this one.
    other = chat(2, [HI], "Well.", gen_ai__agent__name="pim")
    assert pairs(asking, other, paused)[0] == ("search", 1, "incomplete")


def test_an_answer_that_no_span_says_is_the_one_that_the_next_prompt_repeats() -> None:
    found = rows(
        agent(), chat(1, [HI]), chat(3, [HI, said("assistant", "Hello."), said("user", "Go")], "Done.")
    )
    first, second = found.model_calls
    assert second.input_values[:2] == [*first.input_values, *first.output_values]
    for history in ([said("user", "Else"), said("assistant", "Hello.")], [HI, said("user", "Go")]):
        assert rows(agent(), chat(1, [HI]), chat(3, history, "Done.")).model_calls[0].output_values == []
    failed = chat(1, [HI], error="Timeout")
    again = chat(3, [HI, said("assistant", "Hello.")], "Done.")
    assert rows(agent(), failed, again).model_calls[0].output_values == []


def test_of_two_spans_of_one_request_the_larger_count_holds() -> None:
    """An SDK may leave out the cached tokens that the framework counts, or the other way round."""
    for outer, inner in (((10, 7), (30, 5)), ((30, 5), (10, 7))):
        above = chat(1, [HI], "Done.", takes=3, **_usage(*outer))
        below = chat(2, [HI], "Done.", inside=above.span_id, **_usage(*inner))
        (call,) = rows(agent(), above, below).model_calls
        assert (call.input_tokens, call.output_tokens) == (30, 7)
    above, below = chat(1, [HI], "Done.", takes=3), chat(2, [HI], "Done.", **_usage(10, 7))
    below.parent_span_id = above.span_id
    assert rows(agent(), above, below).model_calls[0].input_tokens == 10


@pytest.mark.parametrize(
    ("above", "total"),
    [
        ((500, 50), (500, 50)),
        ((500, 10), (500, 10)),
        ((100, 10), (100, 10)),
        ((80, 8), (100, 10)),
        ((500, 8), (100, 10)),  # less on a side: not a sum of these
        (None, (100, 10)),
    ],
)
def test_where_a_call_counts_nothing_the_sum_above_holds_if_it_comes_to_more(
    above: tuple[int, int] | None, total: tuple[int, int]
) -> None:
    counts: dict[str, Any] = _usage(*above) if above else {}
    root = agent(**counts)
    counted = chat(3, [HI, said("assistant", "Hello."), said("user", "Go")], "Done.", **_usage(100, 10))
    (run,) = rows(root, chat(1, [HI], "Hello."), counted).runs
    assert (run.input_tokens, run.output_tokens) == total
    half = chat(1, [HI], "Hello.", gen_ai__usage__input_tokens=0)
    (run,) = rows(root, half, counted).runs
    assert (run.input_tokens, run.output_tokens) == total
    # What failed need not have counted anything.
    (run,) = rows(root, chat(1, [HI], error="Timeout"), counted).runs
    assert (run.input_tokens, run.output_tokens) == (100, 10)


def _usage(given: int, answered: int) -> dict[str, int]:
    return {"gen_ai__usage__input_tokens": given, "gen_ai__usage__output_tokens": answered}


def test_what_the_outer_span_of_a_request_says_holds_and_the_inner_one_fills_in() -> None:
    above = chat(1, [HI], "Done.", takes=3, gen_ai__request__model="asked", gen_ai__provider__name="outer")
    below = chat(
        2,
        [HI, HI],
        "Other.",
        inside=above.span_id,
        gen_ai__request__model="inner",
        gen_ai__response__model="answered",
        error="Boom",
    )
    found = rows(agent(), above, below)
    (call,) = found.model_calls
    assert (call.request_model, call.response_model, call.provider) == ("asked", "answered", "outer")
    assert (call.status, call.error_type, len(call.input_values)) == ("error", "Boom", 1)
    assert call.span_id == above.span_id


def test_several_requests_below_a_model_span_are_requests_of_their_own() -> None:
    around = chat(1, [HI], "Done.", takes=9)
    first, second = (chat(at, [HI], "Done.", inside=around.span_id) for at in (2, 5))
    found = rows(agent(), around, first, second)
    assert [call.span_id for call in found.model_calls] == [first.span_id, second.span_id]


@pytest.mark.parametrize(
    ("inner", "count"),
    [
        ({"arguments": {"q": "a"}}, 1),
        ({}, 1),
        ({"arguments": {"q": "b"}}, 2),
        ({"name": "fetch", "arguments": {"q": "a"}}, 2),
        ({"arguments": {"q": "b"}, "gen_ai__tool__call__id": "c1"}, 1),
        ({"arguments": {"q": "a"}, "gen_ai__tool__call__id": "c2"}, 2),
    ],
    ids=["equal", "silent", "other arguments", "other tool", "same id", "other id"],
)
def test_an_execution_inside_one_of_the_same_call_is_the_same(inner: dict[str, Any], count: int) -> None:
    outer = tool(1, arguments={"q": "a"}, takes=5, gen_ai__tool__call__id="c1")
    assert len(rows(agent(), outer, tool(2, inside=outer.span_id, **inner)).tool_calls) == count


def test_the_inner_span_of_an_execution_tells_what_the_outer_does_not() -> None:
    for outer, inner, expected in (({}, {"n": 1}, {"n": 1}), ({"n": 2}, {"n": 1}, {"n": 2})):
        above = tool(1, takes=5, result=outer or None)
        below = tool(2, "search", {"q": "a"}, inner, inside=above.span_id, gen_ai__tool__call__id="c1")
        (call,) = rows(agent(), above, below).tool_calls
        assert (json.loads(call.result or ""), call.arguments) == (expected, '{"q":"a"}')
        assert (call.tool_call_id, call.span_id) == ("c1", above.span_id)


def test_what_only_the_innermost_of_three_spans_of_an_execution_says_reaches_the_outermost() -> None:
    outer = tool(1, takes=9)
    middle = tool(2, takes=7, inside=outer.span_id)
    inner = tool(3, "search", {"q": "a"}, {"n": 1}, inside=middle.span_id)
    (call,) = rows(agent(), outer, middle, inner).tool_calls
    assert (call.span_id, call.arguments, call.result) == (outer.span_id, '{"q":"a"}', '{"n":1}')


def test_an_agent_that_goes_by_the_name_of_a_tool_is_not_its_execution() -> None:
    around = agent(gen_ai__tool__name="search")
    assert [call.tool_name for call in rows(around, tool(2)).tool_calls] == ["search"]


@pytest.mark.parametrize(
    ("returned_call", "span", "error", "expected"),
    [
        ("c2", {}, "", "not_executed"),
        ("c9", {}, "", "unknown"),
        ("c2", {"name": "other"}, "", "unknown"),
        ("c2", {}, "Timeout", "unknown"),
    ],
    ids=["handed back", "another was", "executions of the tool have no spans", "the agent failed"],
)
def test_a_call_that_the_agent_returned_itself_is_denied_where_its_executions_have_spans(
    returned_call: str, span: dict[str, str], error: str, expected: str
) -> None:
    first, last = asks("search", {"q": "a"}, "c1"), asks("search", {"q": "a"}, "c2")
    root = agent(
        error=error,
        gen_ai__output__messages=json.dumps([said("assistant", asks("search", {"q": "a"}, returned_call))]),
    )
    executed = tool(3, span.get("name", "search"), {"q": "a"}, 1, gen_ai__tool__call__id="c1")
    if span:
        first = asks("other", {"q": "a"}, "c1")
    again = [HI, said("assistant", first), returned("c1", 1)]
    calls = rows(root, chat(1, [HI], first), executed, chat(5, again, last)).tool_calls
    assert [(call.tool_call_id, call.status) for call in calls] == [("c1", "ok"), ("c2", expected)]


def test_an_execution_in_another_agent_does_not_show_that_this_one_has_spans_for_tools() -> None:
    call = asks("search", {"q": "a"}, "c2")
    inner = agent(span_id=f"{9:016x}", parent_span_id=f"{1:016x}", takes=20)
    root = agent(gen_ai__output__messages=json.dumps([said("assistant", call)]))
    inside = [
        chat(1, [HI], asks("search", {"q": "a"}, "c1"), inside=f"{9:016x}"),
        tool(3, arguments={"q": "a"}, inside=f"{9:016x}", gen_ai__tool__call__id="c1"),
    ]
    calls = rows(root, inner, *inside, chat(30, [said("user", "Ho")], call)).tool_calls
    assert [(call.tool_call_id, call.status) for call in calls] == [("c1", "ok"), ("c2", "unknown")]
