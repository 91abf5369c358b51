"""Answers whose calls have no ids, beside executions that tell them; what prompts leave out, where these are told twice."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from made_runs import agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "Hi")
FIRST, SECOND, LONG = "call_1a2b3c4d5e6f", "call_9z8y7x6w5v4u", "00000000-1111-2222-3333-444444444444"


def ran(at: float, call_id: str | None, *, q: str = "a", name: str = "search") -> Span:
    named = {"gen_ai__tool__call__id": call_id} if call_id else {}
    return tool(at, name, {"q": q}, {"found": q}, takes=0.5, **named)


def untold(at: float, call_id: str) -> Span:
    return tool(at, "search", takes=0.5, gen_ai__tool__call__id=call_id)


def ids(*spans: Span) -> list[str | None]:
    """Return the ids of the calls that the first answer asks for."""
    found = rows(agent(), *spans)
    answer = next(value for value in found.values if value.role == "assistant")
    return [part.get("id") for part in json.loads(answer.json)["parts"]]


@pytest.mark.parametrize(
    ("asked", "executed", "expected"),
    [
        (["a"], [ran(3, FIRST)], [FIRST]),
        (["a", "b"], [ran(3, SECOND, q="b"), ran(3.2, FIRST)], [FIRST, SECOND]),
        (["a", "a"], [ran(3, FIRST), ran(4, SECOND)], [FIRST, SECOND]),
        (["a", "a"], [ran(3, FIRST)], [None, None]),
        (["a"], [ran(3, FIRST), ran(4, SECOND)], [None]),
        (["a"], [ran(3, FIRST, q="b")], [None]),
        (["a"], [ran(3, FIRST, name="send")], [None]),
        (["a"], [ran(7, FIRST)], [None]),
        (["a"], [ran(3, LONG)], [None]),
        (["a"], [ran(3, "call-7")], [None]),
        (["a"], [ran(3, None)], [None]),
        (["a"], [untold(3, FIRST)], [FIRST]),
        (["a", "b"], [untold(3, FIRST), untold(4, SECOND)], [None, None]),
    ],
    ids=[
        "the only one",
        "by what they were given",
        "alike, in their order",
        "fewer ran",
        "more ran",
        "given something else",
        "another tool",
        "after the next request",
        "an id of the framework's own",
        "a number in a row",
        "no id anywhere",
        "of which nothing else is told",
        "two of which nothing else is told",
    ],
)
def test_a_call_has_the_id_of_the_execution_that_only_can_be_its(
    asked: Sequence[str], executed: Sequence[Span], expected: Sequence[str | None]
) -> None:
    answer = [asks("search", {"q": q}) for q in asked]
    assert ids(chat(1, [HI], *answer), *executed, chat(6, [HI], "Done.")) == expected


def test_an_id_that_the_answer_tells_stays() -> None:
    told = chat(1, [HI], asks("search", {"q": "a"}, "c1"), asks("search", {"q": "a"}))
    assert ids(told, ran(3, "c1"), ran(4, FIRST), chat(6, [HI], "Done.")) == ["c1", FIRST]


def test_an_id_that_another_answer_tells_is_not_its() -> None:
    first, second = (
        chat(1, [HI], asks("search", {"q": "a"})),
        chat(6, [HI], asks("search", {"q": "a"}, FIRST)),
    )
    assert ids(first, ran(3, FIRST), second, ran(8, FIRST), chat(10, [HI], "Done.")) == [None]


def test_where_agents_work_side_by_side_nothing_is_taken() -> None:
    first = chat(1, [HI], asks("search", {"q": "a"}), takes=3)
    other = chat(2, [said("user", "Ho")], "Yes.", takes=1)
    assert ids(first, other, ran(5, FIRST), chat(7, [HI], "Done.")) == [None]


def test_a_prompt_that_leaves_all_out_is_completed_where_executions_are_told_twice() -> None:
    def request(at: float, tokens: int, *answer: str | dict[str, object]) -> Span:
        counts = {"gen_ai__usage__input_tokens": tokens, "gen_ai__usage__output_tokens": 3}
        return chat(at, [HI], *answer, **counts)

    outer = ran(3, FIRST)
    inner = tool(3.1, "search", {"q": "a"}, {"found": "a"}, takes=0.2, inside=outer.span_id)
    found = rows(
        agent(),
        request(1, 10, asks("search", {"q": "a"})),
        outer,
        inner,
        request(6, 40, "Done."),
    )
    (call,) = found.tool_calls
    assert (call.tool_call_id, call.status) == (FIRST, "ok")
    told = [json.loads(found.values[number - 1].json) for number in found.model_calls[1].input_values]
    assert told[-1] == returned(FIRST, {"found": "a"})
    assert found.model_calls[1].history == "inferred"
