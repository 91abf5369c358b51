"""What tools returned that their spans keep in an envelope, and executions that are called after the code that ran them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span
from retrospan.schemas.canonical import ToolCallRow

HI = said("user", "Hi")
OSLO = {"city": "Oslo"}
SNOW = {"temp": -3}


def envelope(text: str = json.dumps(SNOW), **more: object) -> dict[str, object]:
    """Return a result as a program keeps it: the text in a block, with an id of its own, beside how it went."""
    block = {"type": "text", "text": text, "id": "b1", "created_at": "2026-11-26"}
    return {"content": [block], "state": "success", "metadata": {}, **more}


def asking(at: float = 1, call_id: str = "c1") -> Span:
    return chat(at, [HI], asks("weather", OSLO, call_id))


def after(told: object, at: float = 5) -> Span:
    """Return the call whose prompt tells the result."""
    return chat(at, [HI, said("assistant", asks("weather", OSLO, "c1")), returned("c1", told)], "Snow.")


def ran(result: object, at: float = 3, call_id: str = "c1", **more: Any) -> Span:
    return tool(at, "weather", OSLO, result, gen_ai__tool__call__id=call_id, **more)


def calls(*spans: Span) -> list[ToolCallRow]:
    return list(rows(agent(), *spans).tool_calls)


def results(*spans: Span) -> list[object]:
    return [json.loads(call.result or "null") for call in calls(*spans)]


@pytest.mark.parametrize("told", [SNOW, json.dumps(SNOW), json.dumps(envelope()["content"])])
def test_a_prompt_that_tells_what_is_inside_opens_the_envelope(told: object) -> None:
    assert results(asking(), ran(envelope()), after(told)) == [SNOW]


@pytest.mark.parametrize("told", [envelope(), json.dumps(envelope()), {"temp": 4}, "snow"])
def test_a_prompt_that_tells_something_else_leaves_it(told: object) -> None:
    assert results(asking(), ran(envelope()), after(told)) == [envelope()]


def test_without_a_prompt_it_may_be_what_the_tool_returned() -> None:
    assert results(asking(), ran(envelope())) == [envelope()]


def test_one_that_is_confirmed_opens_those_of_its_form_of_which_no_prompt_tells() -> None:
    again = chat(5, [HI, said("assistant", asks("weather", OSLO, "c1")), returned("c1", SNOW)],
                 asks("weather", OSLO, "c2"))  # fmt: skip
    last = envelope('{"temp": 6}')
    assert results(asking(), ran(envelope()), again, ran(last, 7, "c2")) == [SNOW, {"temp": 6}]
    other = {"content": last["content"], "page": 2}
    assert results(asking(), ran(envelope()), again, ran(other, 7, "c2")) == [SNOW, other]


@pytest.mark.parametrize(
    "told", [{"state": "error"}, {"is_error": True}, {"isError": True}, {"status": "FAILED"}]
)
def test_an_envelope_says_that_the_tool_failed(told: dict[str, object]) -> None:
    (call,) = calls(asking(), ran(envelope("locked", **told)), after("locked"))
    assert (call.status, call.result) == ("error", "locked")


def test_what_is_only_like_one_says_nothing_of_a_failure() -> None:
    (call,) = calls(asking(), ran({"state": "error", "content": ["locked"]}), after("locked"))
    assert call.status == "ok"
    (call,) = calls(
        asking(), ran(envelope("a ticket", state="error")), after(envelope("a ticket", state="error"))
    )
    assert call.status == "ok"


@pytest.mark.parametrize(
    "content", [[], "text", [None], [{"type": "text"}], [{"type": "image", "text": "a"}]]
)
def test_other_lists_are_no_envelope(content: object) -> None:
    result = {"content": content, "state": "success"}
    assert results(asking(), ran(result), after("")) == [result]


def test_an_execution_that_is_called_after_its_code_has_the_name_of_the_call_with_its_id() -> None:
    given = json.dumps({"action": {**OSLO, "kind": "WeatherAction"}})
    span = act("execute_tool", 3, name="WeatherAction", gen_ai__tool__call__id="c1",
               gen_ai__tool__call__arguments=given)  # fmt: skip
    (call,) = calls(asking(), span)
    assert (call.tool_name, call.tool_call_id) == ("weather", "c1")
    assert json.loads(call.arguments or "") == OSLO


def test_a_name_that_an_attribute_tells_and_other_arguments_stay() -> None:
    named = tool(3, "WeatherAction", {"action": {**OSLO, "kind": "a"}}, gen_ai__tool__call__id="c1")
    (call,) = calls(asking(), named)
    assert call.tool_name == "WeatherAction"
    other = act("execute_tool", 3, name="WeatherAction", gen_ai__tool__call__id="c1",
                gen_ai__tool__call__arguments='{"action": {"city": "Bergen"}}')  # fmt: skip
    (call,) = calls(asking(), other)
    assert call.tool_name == "WeatherAction"
    assert json.loads(call.arguments or "") == {"action": {"city": "Bergen"}}


def test_a_call_whose_name_was_lost_gives_none() -> None:
    span = act("execute_tool", 3, name="weather", gen_ai__tool__call__id="c1",
               gen_ai__tool__call__arguments=json.dumps(OSLO))  # fmt: skip
    (call,) = calls(chat(1, [HI], asks("", OSLO, "c1")), span)
    assert call.tool_name == "weather"


def test_defaults_beside_what_was_asked_for_stay() -> None:
    asked, given = {"city": "Oslo", "day": 1}, {"city": "Oslo", "day": 1, "unit": "C"}
    ask = chat(1, [HI], asks("weather", asked, "c1"))
    (call,) = calls(ask, tool(3, "weather", given, gen_ai__tool__call__id="c1"))
    assert json.loads(call.arguments or "") == given
