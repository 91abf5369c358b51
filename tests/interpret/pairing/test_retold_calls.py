"""Model calls that have no span, and are told by later prompts; models that only the span around a call names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from made_spans import make_span
from spans import rows_of_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrospan.ingest.interpret.rows.lists import Rows
    from retrospan.ingest.interpret.spans.span import Span

SECOND = 10**9
CHAT = "gen_ai.operation.name"


def text(role: str, said: str) -> dict[str, object]:
    return {"role": role, "parts": [{"type": "text", "content": said}]}


def asks(call_id: str) -> dict[str, object]:
    part = {"type": "tool_call", "id": call_id, "name": "weather", "arguments": {"city": call_id}}
    return {"role": "assistant", "parts": [part]}


def result(call_id: str) -> dict[str, object]:
    part = {"type": "tool_call_response", "id": call_id, "response": "cold"}
    return {"role": "tool", "parts": [part]}


def span(operation: str, number: int, began: int, ended: int, parent: int = 1, **attributes: object) -> Span:
    told = {f"gen_ai.{key.replace('__', '.')}": value for key, value in attributes.items()}
    more: dict[str, Any] = {"started_at": began * SECOND, "ended_at": ended * SECOND}
    above = f"{parent:016x}" if number != parent else ""
    return make_span({CHAT: operation, **told}, span_id=f"{number:016x}", parent_span_id=above, **more)


def chat(number: int, began: int, ended: int, given: Sequence[object], said: object, **more: Any) -> Span:
    return span(
        "chat",
        number,
        began,
        ended,
        request__model="m",
        input__messages=json.dumps(given),
        output__messages=json.dumps([said]),
        **more,
    )


def tool(number: int, began: int, call_id: str) -> Span:
    return span("execute_tool", number, began, began + 1, tool__name="weather", tool__call__id=call_id)


def said(rows: Rows) -> list[tuple[int, list[str], float | None]]:
    """Return of each model call how many messages it was given, whose its answer is, and how long it took."""
    roles = {value.number: value.role for value in rows.values}
    return [
        (len(call.input_values), [roles[n] for n in call.output_values], call.duration_ms)
        for call in rows.model_calls
    ]


def test_the_calls_that_one_span_wrote_over_each_other_come_back_from_its_last_prompt() -> None:
    prompt = [text("user", "?"), asks("c1"), result("c1"), asks("c2"), result("c2")]
    spans = [
        span("invoke_agent", 1, 0, 20),
        chat(2, 1, 19, prompt, text("assistant", "Cold.")),
        tool(3, 3, "c1"),
        tool(4, 6, "c2"),
    ]
    for order in (spans, spans[::-1]):
        (rows,) = rows_of_spans(order)
        assert said(rows) == [(1, ["assistant"], None), (3, ["assistant"], None), (5, ["assistant"], None)]
        assert [(call.tool_call_id, call.asked_by, call.status) for call in rows.tool_calls] == [
            ("c1", 1, "ok"),
            ("c2", 2, "ok"),
        ]
        assert [step.step_kind for step in rows.steps] == ["model", "tool", "model", "tool", "model"]
        assert rows.runs[0].output == "Cold."


def test_the_tokens_of_the_last_call_are_not_those_of_all() -> None:
    prompt = [text("user", "?"), asks("c1"), result("c1")]
    last = chat(2, 1, 19, prompt, text("assistant", "Cold."), usage__input_tokens=30, usage__output_tokens=5)
    root = span("invoke_agent", 1, 0, 20)
    (rows,) = rows_of_spans([root, last, tool(3, 3, "c1")])
    assert (rows.runs[0].input_tokens, rows.runs[0].output_tokens) == (None, None)
    (rows,) = rows_of_spans([root, last])
    assert (rows.runs[0].input_tokens, rows.runs[0].output_tokens) == (30, 5)


def test_what_ran_at_another_time_may_have_been_asked_for_by_a_run_before() -> None:
    prompt = [text("user", "?"), asks("c1"), result("c1")]
    (rows,) = rows_of_spans(
        [
            span("invoke_agent", 1, 0, 20),
            tool(3, 3, "c1"),
            chat(2, 5, 7, prompt, text("assistant", "Cold.")),
        ]
    )
    assert said(rows) == [(3, ["assistant"], 2000.0)]


def test_what_an_earlier_run_asked_for_is_not_a_call_of_this_one() -> None:
    prompt = [text("user", "?"), asks("c1"), result("c1"), text("assistant", "Cold."), text("user", "And?")]
    (rows,) = rows_of_spans(
        [span("invoke_agent", 1, 0, 20), chat(2, 1, 2, prompt, text("assistant", "Warm."))]
    )
    assert len(rows.model_calls) == 1


def test_a_call_that_its_own_prompt_answers_is_left_over_in_an_answer() -> None:
    prompt = [text("user", "?"), asks("c1"), result("c1")]
    over = {"role": "assistant", "parts": [*asks("c1")["parts"], *text("assistant", "Cold.")["parts"]]}  # type: ignore[misc]
    (rows,) = rows_of_spans([span("invoke_agent", 1, 0, 20), tool(3, 3, "c1"), chat(2, 5, 7, prompt, over)])
    assert said(rows) == [(3, ["assistant"], 2000.0)]
    assert [call.tool_call_id for call in rows.tool_calls] == ["c1"]
    assert rows.runs[0].output == "Cold."


def node(returned: object) -> Span:
    attributes: dict[str, object] = {
        "langfuse.observation.type": "chain",
        "output.value": json.dumps(returned),
    }
    return make_span(attributes, span_id="1" * 16)


def around(returned: object, *before: dict[str, object]) -> str | None:
    inner = {CHAT: "chat", "gen_ai.output.messages": json.dumps([*before, asks("c1")])}
    (rows,) = rows_of_spans([node(returned), make_span(dict(inner), parent_span_id="1" * 16)])
    return rows.model_calls[0].response_model


def test_the_span_around_a_call_names_the_model_that_gave_this_answer() -> None:
    call = {"id": "c1", "name": "weather", "args": {"city": "c1"}, "type": "tool_call"}
    message = {"type": "ai", "content": "", "tool_calls": [call], "response_metadata": {"model_name": "m-2"}}
    assert around([{"update": {"messages": [message]}}]) == "m-2"
    other = message | {"tool_calls": [call | {"id": "c2"}]}
    assert around([{"update": {"messages": [other]}}]) is None
    assert around({"messages": [message | {"response_metadata": {}}]}) is None
    thought: dict[str, object] = {"role": "assistant", "content": "I look."}
    assert around({"messages": [message]}, thought) == "m-2", "the last message of an answer names it"
    in_lists: object = message
    in_objects: object = message
    for _ in range(7):
        in_lists, in_objects = [in_lists], {"a": in_objects}
    assert (around(in_lists), around(in_objects)) == ("m-2", "m-2")
    assert (around([in_lists]), around({"a": in_objects})) == (None, None), "seven levels deep and no deeper"


def _with_left_out(
    *more: Span, given: Sequence[object] | None = None, asked: Sequence[object] = (text("user", "?"),)
) -> Rows:
    prompt = given or [text("user", "?"), asks("c1"), result("c1"), asks("c2"), result("c2")]
    agent = span("invoke_agent", 1, 0, 20, input__messages=json.dumps(asked))
    last = chat(9, 10, 12, prompt, text("assistant", "Cold."))
    (rows,) = rows_of_spans([agent, tool(3, 3, "c1"), tool(4, 6, "c2"), last, *more])
    return rows


def test_requests_that_an_agent_leaves_out_come_back_from_the_prompt_of_a_later_one() -> None:
    told = _with_left_out()
    assert said(told) == [(1, ["assistant"], None), (3, ["assistant"], None), (5, ["assistant"], 2000.0)]
    assert [call.asked_by for call in told.tool_calls] == [1, 2]


def test_calls_one_after_the_other_in_a_prompt_are_one_answer() -> None:
    told = _with_left_out(given=[text("user", "?"), asks("c1"), asks("c2"), result("c1"), result("c2")])
    assert [(given, roles) for given, roles, _ in said(told)] == [(1, ["assistant"]), (5, ["assistant"])]


def test_a_request_that_says_nothing_may_have_given_the_answer() -> None:
    silent = span("chat", 8, 1, 2, request__model="m")
    assert [took for _, _, took in said(_with_left_out(silent))] == [1000.0, None, 2000.0]
    between = span("chat", 8, 5, 6, request__model="m")
    assert [took for _, _, took in said(_with_left_out(between))] == [None, 1000.0, 2000.0]


def test_what_an_earlier_run_asked_for_is_not_of_this_agent() -> None:
    earlier = [text("user", "?"), asks("c8"), result("c8"), text("assistant", "Cold."), text("user", "And?")]
    given = [*earlier, asks("c1"), result("c1"), asks("c2"), result("c2")]
    told = _with_left_out(given=given, asked=[text("user", "And?")])
    assert [count for count, _, _ in said(told)] == [5, 7, 9]
    assert [count for count, _, _ in said(_with_left_out(given=given, asked=[]))] == [9]
