"""What is recognised by its shape: printed objects, results told twice, errors that a tool returned, agents' names."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.normalize.messages import error_of, read_messages

HI = said("user", "Hi")
TEXT = {"type": "text", "content": "I will look it up."}
CALL = {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}
_PRINTED_CALL = """ResponseFunctionToolCall(arguments='{"city": "Oslo"}', call_id='c1', name='get_weather', \
type='function_call', id='fc_1', status='completed')"""
_PRINTED_MESSAGE = """{'content': 'I will look it up.', 'role': 'assistant', 'tool_calls': [{'id': 'c1', \
'function': {'arguments': '{"city": "Oslo"}', 'name': 'get_weather'}, 'type': 'function'}]}"""
_PRINTED_TEXT = "{'annotations': [], 'text': 'I will look it up.', 'type': 'output_text'}"


@pytest.mark.parametrize(
    ("printed", "parts"),
    [(_PRINTED_CALL, [CALL]), (_PRINTED_MESSAGE, [TEXT, CALL]), (_PRINTED_TEXT, [TEXT])],
    ids=["a call", "a message", "a text"],
)
def test_what_an_assistant_said_is_read_from_a_printed_object(
    printed: str, parts: list[dict[str, object]]
) -> None:
    message = {"role": "assistant", "parts": [{"type": "text", "content": printed}]}
    assert read_messages([message]) == [{"role": "assistant", "parts": parts}]


@pytest.mark.parametrize("role", ["user", "system"])
def test_what_others_quote_stays_a_text(role: str) -> None:
    message = {"role": role, "parts": [{"type": "text", "content": _PRINTED_CALL}]}
    assert read_messages([message]) == [message]


@pytest.mark.parametrize(
    "text",
    [
        "{'text': 'Fine.', 'mood': 'good'}",
        "{'role': 'user', 'content': 'Hi'}",
        "{'role': 'assistant'}",
        "{'name': 'f', 'arguments': {}}",
        "Weather(city='Oslo', temp_c=-3)",
        "{'city': 'Oslo'}",
        f"Here it is: {_PRINTED_CALL}",
        "f(x=1",
        "{'a': }",
    ],
)
def test_an_assistant_may_print_what_is_neither_message_nor_part(text: str) -> None:
    message = {"role": "assistant", "parts": [{"type": "text", "content": text}]}
    assert read_messages([message]) == [message]


def test_a_tool_s_text_beside_its_result_counts_once() -> None:
    result = {"type": "tool_call_response", "id": "c1", "response": {"city": "Oslo"}}
    text = {"type": "text", "content": '{"city": "Oslo"}'}
    assert read_messages([{"role": "tool", "parts": [text, result]}]) == [{"role": "tool", "parts": [result]}]
    other = {"type": "text", "content": "It took a second."}
    assert read_messages([{"role": "tool", "parts": [other, result]}])[0]["parts"] == [other, result]


def test_a_result_that_two_messages_in_a_row_tell_is_one() -> None:
    call = asks("search", {"q": "a"}, "c1")
    history = [HI, said("assistant", call), returned("c1", {"n": 1}), returned("c1", {"n": 1})]
    found = rows(agent(), chat(1, [HI], call), chat(3, history, "Done."))
    assert len(found.model_calls[1].input_values) == 3
    # The same id and result in a later turn is another one: some frameworks count their calls anew.
    again = [*history[:3], said("assistant", call), returned("c1", {"n": 1})]
    found = rows(agent(), chat(1, [HI], call), chat(3, again, "Done."))
    assert len(found.model_calls[1].input_values) == 5


def test_a_text_that_stands_apart_from_its_calls_counts_once() -> None:
    call = asks("search", {"q": "a"}, "c1")
    answered = chat(1, [HI], TEXT, call)
    history = [HI, said("assistant", "I will look it up."), said("assistant", call), returned("c1", {"n": 1})]
    found = rows(agent(), answered, chat(3, history, "Done."))
    assert len(found.model_calls[1].input_values) == 3
    lost = rows(agent(), answered, chat(3, [*history[:2], history[3]], "Done."))
    assert lost.model_calls[1].input_values == found.model_calls[1].input_values


@pytest.mark.parametrize(
    ("response", "error"),
    [
        ({"error": "locked"}, "locked"),
        ({"error": {"code": 7}}, '{"code":7}'),
        ({"isError": True, "content": "gone"}, "gone"),
        ({"error": None}, None),
        ({"error": "late", "order": 1}, None),
        ("error", None),
    ],
)
def test_an_error_is_what_holds_nothing_else(response: object, error: str | None) -> None:
    assert error_of(response) == error


def test_an_error_that_only_the_next_prompt_tells_is_one() -> None:
    call = asks("search", {"q": "a"}, "c1")
    later = chat(5, [HI, said("assistant", call), returned("c1", {"error": "locked"})], "Done.")
    for execution in ([], [tool(3, arguments={"q": "a"}, gen_ai__tool__call__id="c1")]):
        (found,) = rows(agent(), chat(1, [HI], call), *execution, later).tool_calls
        assert (found.status, found.error_message) == ("error", "locked")


@pytest.mark.parametrize(
    ("name", "agent_name"),
    [
        ("orla", "orla"),
        ("orla.run", "orla"),
        ("invoke_agent orla", "orla"),
        ("Refund helper", "Refund helper"),
        ("Arun", "Arun"),
        ("CodeAgent.run", None),
        ("AgentExecutor", None),
        ("agent run", None),
        ("invoke_agent", None),
        ("ai.generateText", None),
        ("POST /chat", None),
    ],
)
def test_an_agent_that_no_attribute_names_goes_by_the_name_of_its_span(
    name: str, agent_name: str | None
) -> None:
    root = agent(gen_ai__agent__name="", name=name)
    call = chat(1, [HI], "Done.", gen_ai__agent__name="")
    assert rows(root, call).runs[0].agent_name == agent_name


def test_a_stated_name_goes_before_the_names_of_spans() -> None:
    root = agent(gen_ai__agent__name="", name="support")
    inner = act("invoke_agent", 1, takes=9, gen_ai__agent__name="orla")
    call = chat(2, [HI], "Done.", inside=inner.span_id, gen_ai__agent__name="Some SDK")
    assert rows(root, inner, call).runs[0].agent_name == "orla"


def test_a_model_that_nothing_tells_of_as_asked_or_answering_is_both() -> None:
    request: dict[str, Any] = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.model.name": "gpt-4o-mini-2024-07-18",
        "langfuse.observation.output": json.dumps({"role": "assistant", "content": "Done."}),
    }
    (call,) = rows(agent(), act("", 1, **request)).model_calls
    assert (call.request_model, call.response_model) == ("gpt-4o-mini-2024-07-18",) * 2
