"""Acts that a span tells by halves or together: requests that another failure ended, executions and results in one place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from made_spans import make_span
from spans import rows_of_spans
from weather_question import model_span

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

ENDED = 100 * 10**9 + 1_234
MESSAGE = "the context is too long"
GIVEN = {"oslo": {"city": "Oslo"}, "bergen": {"city": "Bergen"}}
RETURNED = {"oslo": {"temp_c": -3}, "bergen": {"temp_c": 6}}
QUESTION = {"role": "user", "content": "Which is colder?"}
ANSWER = {"role": "assistant", "content": "Oslo."}


def read(spans: Sequence[Span]) -> Rows:
    (rows,) = rows_of_spans(spans)
    return rows


def reasons(rows: Rows) -> list[str]:
    return [problem.reason for problem in rows.problems]


def failed_around(*acts: Span, ended: int = ENDED) -> list[Span]:
    """Return acts inside an agent that failed."""
    root = make_span(
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "orla"},
        "orla",
        started_at=1,
        ended_at=ended,
        status="error",
        status_message=MESSAGE,
    )
    return [root, *(replace(act, parent_span_id=root.span_id) for act in acts)]


def asking(started: int = 50 * 10**9, ended: int = ENDED, **told: object) -> Span:
    said = {name.replace("__", "."): value for name, value in told.items()}
    prompt = {"gen_ai.input.messages": json.dumps([QUESTION])}
    return model_span({**prompt, **said}, started_at=started, ended_at=ended)


NOTHING_KNOWN = "nothing says how it went, and what is around it failed as it ended"


def test_a_request_that_ended_with_what_failed_around_it_failed() -> None:
    rows = read(failed_around(asking()))
    (call,) = rows.model_calls
    assert (call.status, call.error_message, reasons(rows)) == ("error", MESSAGE, [])


@pytest.mark.parametrize(
    ("acts", "ended", "listed"),
    [
        ([asking(ended=ENDED - 1)], ENDED, 0),
        ([asking(gen_ai__usage__output_tokens=4)], ENDED, 0),
        ([asking(gen_ai__response__finish_reasons=["stop"])], ENDED, 0),
        ([replace(asking(), status="ok")], ENDED, 0),
        ([asking(ended=100 * 10**9)], 100 * 10**9, 1),
        ([asking(), asking(started=60 * 10**9)], ENDED, 2),
    ],
    ids=["earlier", "counted", "finished", "went well", "whole milliseconds", "two at once"],
)
def test_a_request_of_which_more_or_less_is_known_keeps_its_status(
    acts: list[Span], ended: int, listed: int
) -> None:
    rows = read(failed_around(*acts, ended=ended))
    assert {call.status for call in rows.model_calls} == {"ok"}
    assert reasons(rows).count(NOTHING_KNOWN) == listed


def test_a_request_beside_one_that_failed_has_not_its_error() -> None:
    other = replace(asking(ended=ENDED - 5), status="error", status_message=MESSAGE)
    rows = read(failed_around(other, asking()))
    assert sorted(call.status for call in rows.model_calls) == ["error", "ok"]
    assert NOTHING_KNOWN in reasons(rows)


def test_the_id_that_an_application_gave_its_function_names_the_agent() -> None:
    spans = failed_around(asking())
    named = replace(spans[0], attributes={"gen_ai.operation.name": "invoke_agent", "ai.functionId": "orla"})
    assert {call.agent_name for call in read([named, *spans[1:]]).model_calls} == {"orla"}


def joined(names: str, ids: str, **others: Any) -> Span:
    told: dict[str, object] = {"gen_ai.operation.name": "execute_tool"}
    told |= {"gen_ai.tool.name": names, "gen_ai.tool.call.id": ids}
    return make_span(told, "execute_tool (+1 more)", **others)


def after_an_answer(tool: Span, *ids: str) -> list[Span]:
    """Return an execution after an answer that asked with some ids, in the order of an agent's work."""
    calls = [
        {"id": call_id, "type": "function", "function": {"name": "weather", "arguments": "{}"}}
        for call_id in ids
    ]
    said = [{"role": "assistant", "content": None, "tool_calls": calls}] if calls else []
    told = {"gen_ai.output.messages": json.dumps(said)} if said else {}
    asked = model_span({"gen_ai.input.messages": json.dumps([QUESTION]), **told}, started_at=2, ended_at=3)
    root = make_span(
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "orla"}, started_at=1, ended_at=9
    )
    acts = [asked, replace(tool, started_at=4, ended_at=6)]
    return [root, *(replace(act, parent_span_id=root.span_id) for act in acts)]


@pytest.mark.parametrize("asked", [(), ("a", "b"), ("a", "b", "c")])
def test_names_and_ids_with_commas_are_as_many_executions(asked: tuple[str, ...]) -> None:
    rows = read(after_an_answer(joined("weather, search", "a,b"), *asked))
    ran = [(call.tool_name, call.tool_call_id, call.status) for call in rows.tool_calls if call.span_id]
    assert ran == [("weather", "a", "ok"), ("search", "b", "ok")]
    assert {call.duration_ms for call in rows.tool_calls} == {None}
    assert not [reason for reason in reasons(rows) if "executions" in reason]


@pytest.mark.parametrize(
    ("tool", "asked"),
    [
        (joined("weather, search", "a,b"), ("a", "c")),
        (joined("weather, search", "a,b", status="error"), ()),
    ],
    ids=["asked with another id", "one of them failed"],
)
def test_executions_that_cannot_be_told_apart_are_one_and_listed(tool: Span, asked: tuple[str, ...]) -> None:
    rows = read(after_an_answer(tool, *asked))
    assert [call.tool_call_id for call in rows.tool_calls if call.span_id] == ["a,b"]
    assert sum("one span for 2 executions" in reason for reason in reasons(rows)) == 1


@pytest.mark.parametrize(("names", "ids"), [("weather", "a,b"), ("weather, search", "a"), ("a b, c", "1,2")])
def test_a_comma_alone_makes_no_second_execution(names: str, ids: str) -> None:
    rows = read(after_an_answer(joined(names, ids)))
    assert [(call.tool_name, call.tool_call_id) for call in rows.tool_calls] == [(names, ids)]
    assert not [reason for reason in reasons(rows) if "executions" in reason]


def told_in_one_message(asked: Sequence[str], answered: str, *, whole: bool) -> Span:
    """Return a request whose prompt has the results of calls in a user's message: one of them in attributes, all in the
    request itself."""
    start = "llm.input_messages"
    told: dict[str, object] = {
        f"{start}.0.message.role": "user",
        f"{start}.0.message.content": QUESTION["content"],
        f"{start}.1.message.role": "assistant",
        f"{start}.2.message.role": "user",
        f"{start}.2.message.tool_call_id": answered,
        f"{start}.2.message.content": json.dumps(RETURNED["bergen"]),
    }
    for place, call_id in enumerate(asked):
        call = f"{start}.1.message.tool_calls.{place}.tool_call"
        told |= {f"{call}.id": call_id, f"{call}.function.name": "weather"}
        told |= {f"{call}.function.arguments": json.dumps(GIVEN[call_id])}
    uses = [
        {"type": "tool_use", "id": call_id, "name": "weather", "input": GIVEN[call_id]} for call_id in asked
    ]
    results = [
        {"type": "tool_result", "tool_use_id": call_id, "content": json.dumps(RETURNED[call_id])}
        for call_id in asked
    ]
    prompt = [QUESTION, {"role": "assistant", "content": uses}, {"role": "user", "content": results}]
    request = {"input.value": json.dumps({"model": "m-1", "messages": prompt})} if whole else {}
    return model_span({**told, **request, "gen_ai.output.messages": json.dumps([ANSWER])})


def prompt_of(span: Span) -> list[dict[str, Any]]:
    rows = read([span])
    texts = {value.number: value.json for value in rows.values}
    (call,) = rows.model_calls
    return [json.loads(texts[number]) for number in call.input_values]


def test_a_message_with_the_id_of_a_call_is_its_result_whoever_it_is_from() -> None:
    message = prompt_of(told_in_one_message(["bergen"], "bergen", whole=False))[-1]
    result = {"type": "tool_call_response", "id": "bergen", "response": RETURNED["bergen"]}
    assert message == {"role": "tool", "parts": [result]}


def test_of_several_results_in_one_message_the_request_has_all() -> None:
    message = prompt_of(told_in_one_message(["oslo", "bergen"], "bergen", whole=True))[-1]
    assert message["role"] == "tool"
    assert [part["response"] for part in message["parts"]] == [*RETURNED.values()]


def test_a_message_with_an_id_that_no_call_has_is_what_its_role_says() -> None:
    message = prompt_of(told_in_one_message(["oslo"], "bergen", whole=False))[-1]
    assert message["role"] == "user"


def test_a_user_who_pastes_a_result_with_its_id_says_it() -> None:
    span = told_in_one_message(["bergen"], "bergen", whole=False)
    place = "llm.input_messages.2.message"
    told = {key: value for key, value in span.attributes.items() if key != f"{place}.tool_call_id"}
    pasted = json.dumps({"tool_call_id": "bergen", "content": "6"})
    message = prompt_of(replace(span, attributes={**told, f"{place}.content": pasted}))[-1]
    assert (message["role"], message["parts"]) == ("user", [{"type": "text", "content": pasted}])
