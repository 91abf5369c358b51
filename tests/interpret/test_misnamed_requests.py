"""Requests to models that an instrumentation calls executions of tools, and executions that look like requests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from made_runs import act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

ASKED = {"role": "user", "content": "How is Oslo?"}
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": '{"sky": "snow"}'}


def response(message: Mapping[str, object], end: str) -> dict[str, object]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "gpt-4o-mini-2024-07-18",
        "choices": [{"index": 0, "message": message, "finish_reason": end}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
    }


def called_tool(at: float, given: object, output: object, **more: Any) -> Span:
    """Return a span that is called a tool and names none; what it returned is JSON in the quotes of JSON."""
    answer = {"output.value": json.dumps(json.dumps(output))} if output is not None else {}
    more |= {"gen_ai.span.kind": "TOOL", "input.value": json.dumps(given), **answer}
    return act("", at, name="client.create", **more)


ASKING = called_tool(1, [ASKED], response(CALLED, "tool_calls"))
SAYING = called_tool(5, [ASKED, CALLED, RESULT], response({"role": "assistant", "content": "Snow."}, "stop"))


def test_what_was_given_messages_and_returned_a_whole_response_is_a_request() -> None:
    found = rows(agent(), ASKING, SAYING)
    assert [call.response_model for call in found.model_calls] == ["gpt-4o-mini-2024-07-18"] * 2
    assert (found.runs[0].input_tokens, found.runs[0].output) == (20, "Snow.")
    (call,) = found.tool_calls
    assert (call.tool_name, call.result, call.status) == ("weather", '{"sky":"snow"}', "ok")


def test_one_that_failed_is_a_request_where_others_of_its_name_are() -> None:
    failed = called_tool(5, [ASKED, CALLED, RESULT], None, status="error")
    found = rows(agent(error="Timeout"), ASKING, failed)
    assert [call.status for call in found.model_calls] == ["ok", "error"]
    assert [call.tool_name for call in found.tool_calls] == ["weather"]


def test_a_tool_that_asks_a_model_stays_one() -> None:
    outer = called_tool(1, [ASKED], response(CALLED, "tool_calls"), span_id="c" * 16, takes=3)
    inner = act("", 2, name="helper", inside="c" * 16)
    asking = chat(2, [said("user", "How is Oslo?")], "Snow.", inside=inner.span_id)
    calls, names = kinds(rows(agent(), outer, inner, asking))
    assert calls == 1 and "client.create" in names


def kinds(found: Rows) -> tuple[int, list[str]]:
    return len(found.model_calls), [call.tool_name for call in found.tool_calls]


@pytest.mark.parametrize(
    "span",
    [
        called_tool(1, [ASKED], response(CALLED, "tool_calls"), gen_ai__tool__name="ask_model"),
        called_tool(1, {"question": "How is Oslo?"}, response(CALLED, "tool_calls")),
        called_tool(1, [ASKED], {"sky": "snow"}),
        called_tool(1, [ASKED], None, status="error"),
    ],
    ids=["it names a tool", "given no messages", "it returned no response", "no other is a request"],
)
def test_a_tool_that_is_given_or_returns_such_a_thing_is_a_tool(span: Span) -> None:
    calls, names = kinds(rows(agent(), span))
    assert calls == 0 and names == [span.attributes.get("gen_ai.tool.name", "client.create")]


def test_a_tool_that_failed_among_requests_of_its_name_is_one_where_it_names_itself() -> None:
    failed = called_tool(5, [ASKED], None, status="error", gen_ai__tool__name="weather")
    assert kinds(rows(agent(), ASKING, failed)) == (1, ["weather"])


WRITTEN = json.dumps({"tool_function": "weather", "tool_arguments": '{"city": "Oslo"}'})


@pytest.mark.parametrize(
    ("content", "is_call"),
    [
        ([WRITTEN], True),
        (WRITTEN, False),
        ([WRITTEN, "It snows."], False),
        ([json.dumps({"tool_function": "weather", "tool_arguments": "{}", "note": "as before"})], False),
        ([json.dumps({"city": "Oslo", "tool_arguments": "{}"})], False),
    ],
    ids=["a list of calls", "one text", "beside a text", "with more beside it", "without a name"],
)
def test_a_list_of_texts_is_the_calls_of_an_answer_where_each_is_one(content: object, is_call: bool) -> None:
    prompt = [ASKED, {"role": "assistant", "content": content}, {"role": "tool", "content": "snow"}]
    found = rows(agent(), act("chat", 5, gen_ai__input__messages=json.dumps(prompt)))
    texts = {value.number: json.loads(value.json) for value in found.values if value.json}
    parts = texts[found.model_calls[0].input_values[1]]["parts"]
    assert [part["type"] for part in parts] == (["tool_call"] if is_call else ["text"] * len(parts))


HI, CITY = said("user", "How is Oslo?"), asks("weather", {"city": "Oslo"}, "c1")
SNOW = returned(None, {"sky": "snow"})


def parts_of_answer(*prompt: dict[str, object]) -> list[str]:
    found = rows(
        agent(), chat(1, [HI], CITY), tool(3, "weather", {"city": "Oslo"}), chat(5, [*prompt], "Snow.")
    )
    texts = {value.number: json.loads(value.json) for value in found.values if value.json}
    return [part["type"] for part in texts[found.model_calls[0].output_values[0]]["parts"]]


def test_an_answer_told_as_its_calls_has_the_text_that_the_next_prompt_tells_of_it() -> None:
    assert parts_of_answer(HI, said("assistant", "I look."), SNOW) == ["text", "tool_call"]


@pytest.mark.parametrize(
    "prompt",
    [
        [HI, said("assistant", "I look.")],
        [HI, said("assistant", "I look."), SNOW, SNOW],
        [said("user", "Hello"), said("assistant", "I look."), SNOW],
        [HI, said("user", "I look."), SNOW],
        [HI, said("assistant", "weather(city=Oslo)"), SNOW],
        [HI, said("assistant", '{"city": "Oslo"}'), SNOW],
    ],
    ids=[
        "no result follows",
        "more results than calls",
        "of another history",
        "somebody else said it",
        "it names the tool",
        "it is JSON",
    ],
)
def test_a_text_from_elsewhere_is_not_the_answers(prompt: list[dict[str, object]]) -> None:
    assert parts_of_answer(*prompt) == ["tool_call"]


def test_an_agent_that_tells_no_request_answered_what_it_or_the_only_one_in_it_returned() -> None:
    told: dict[str, Any] = {"pim.run.prompt": "How is Oslo?", "pim.run.result": "Snow."}
    inner = act("invoke_agent", 1, gen_ai__agent__name="pim", **told)
    (run,) = rows(agent(), inner).runs
    assert (run.input, run.output) == ("How is Oslo?", "Snow.")
    (run,) = rows(agent(error="Timeout"), inner).runs
    assert run.output is None
    other = act("invoke_agent", 3, gen_ai__agent__name="tom", tom__run__result="Rain.")
    (run,) = rows(agent(), inner, other).runs
    assert run.output is None


def passed(at: float, name: str, **more: Any) -> Span:
    """Return a span that is called a chat, knows no model, and estimates tokens."""
    own: dict[str, Any] = {
        "gen_ai__request__model": "unknown",
        "gen_ai__response__model": "unknown",
        "gen_ai__output__messages": "pim",
        "gen_ai__usage__input_tokens": 19,
        "gen_ai__usage__output_tokens": 63,
    }
    return act("chat", at, name=name, gen_ai__agent__name="orla", **{**own, **more})


@pytest.mark.parametrize(
    ("name", "more", "calls"),
    [
        ("execute_task orla", {}, 1),
        ("chat unknown", {}, 2),
        ("execute_task orla", {"gen_ai__output__messages": json.dumps([said("assistant", "Hi")])}, 2),
        ("execute_task orla", {"gen_ai__response__id": "r1"}, 2),
        ("execute_task orla", {"gen_ai__response__model": "m-1"}, 2),
    ],
    ids=[
        "called after an agent",
        "called after a model",
        "it tells messages",
        "it has an id",
        "it knows the model",
    ],
)
def test_what_agents_said_to_each_other_is_not_a_request(name: str, more: dict[str, Any], calls: int) -> None:
    asking = chat(
        5,
        [said("user", "How is Oslo?")],
        "Snow.",
        gen_ai__request__model="m-1",
        gen_ai__usage__input_tokens=100,
        gen_ai__usage__output_tokens=20,
    )
    found = rows(agent(), passed(1, name, **more), asking)
    assert len(found.model_calls) == calls
    assert found.runs[0].input_tokens == (100 if calls == 1 else 119)
    assert "unknown" not in {
        name for call in found.model_calls for name in (call.request_model, call.response_model)
    }
