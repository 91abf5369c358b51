"""Agents that are given messages and return the next one asked a model, in a run that has no span of a model call."""

from __future__ import annotations

import json
from typing import Any

from made_runs import act, asks, chat, rows, said

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

HI = {"role": "user", "content": "How is Oslo?"}
ASKING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    ],
}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "snow"}
CALL = asks("weather", {"city": "Oslo"}, "call_1")


def _reply(at: float, given: list[Any], answer: object, name: str = "orla", **more: Any) -> Span:
    returned = answer if isinstance(answer, str) else json.dumps(answer)
    return act(
        "invoke_agent",
        at,
        gen_ai__agent__name=name,
        input__value=json.dumps(given),
        output__value=returned,
        **more,
    )


def _told(found: Rows) -> list[tuple[str | None, list[Any], list[Any]]]:
    texts = {value.number: json.loads(value.json) for value in found.values if value.json}
    return [
        (call.agent_name, [texts[n] for n in call.input_values], [texts[n] for n in call.output_values])
        for call in found.model_calls
    ]


WORKED = _reply(3, [HI, ASKING], {"role": "tool", "content": "snow"}, "customer")


def test_each_reply_of_an_agent_that_asked_for_a_tool_is_an_answer_of_its_model() -> None:
    last = _reply(5, [{"role": "system", "content": "Be brief."}, HI, ASKING, RESULT], "Snow.")
    first, second = _told(rows(_reply(1, [HI], ASKING), WORKED, last))
    user, called = said("user", "How is Oslo?"), said("assistant", CALL)
    assert first == ("orla", [user], [called])
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "snow"}]}
    assert second == ("orla", [user, called, result], [said("assistant", "Snow.")])


def test_an_agent_that_never_asked_for_a_tool_may_be_a_person() -> None:
    assert _told(rows(_reply(1, [HI], "Snow."), _reply(3, [HI], "Thanks.", "customer"))) == []
    both = rows(_reply(1, [HI], ASKING), _reply(3, [HI], "Thanks.", "customer"))
    assert [name for name, _, _ in _told(both)] == ["orla"]


def test_where_a_span_tells_a_model_call_or_an_agent_failed_nothing_is_added() -> None:
    assert len(_told(rows(_reply(1, [HI], ASKING), chat(5, [said("user", "How is Oslo?")], "Snow.")))) == 1
    assert _told(rows(_reply(1, [HI], ASKING, error="Refused"))) == []


def test_what_is_given_no_messages_or_returns_none_is_no_answer() -> None:
    other = act(
        "invoke_agent", 1, gen_ai__agent__name="orla", input__value="Hi", output__value=json.dumps(ASKING)
    )
    assert _told(rows(other, WORKED)) == []
    assert _told(rows(_reply(1, [HI], {"city": "Oslo"}), WORKED)) == []
