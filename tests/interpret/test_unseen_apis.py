"""Model calls that no recording here holds, in the forms of model APIs and clients, under names that nobody has listed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_spans import event, make_span
from weather_question import (
    ANSWER,
    ASKED,
    CALL,
    CALLED,
    GIVEN,
    QUESTION,
    RETURNED,
    SAID,
    SYSTEM,
    TOLD,
    model_span,
    require_whole,
    tool_span,
)

from retrospan.ingest.interpret.spans.span import Span

_USAGE = ((10, 2), (20, 4))


def _exchange(
    request: object, response: object, names: tuple[str, str] = ("acme.input", "acme.output")
) -> Span:
    given, returned = names
    return model_span(
        {
            given: request if isinstance(request, str) else json.dumps(request),
            returned: response if isinstance(response, str) else json.dumps(response),
        }
    )


def _counted(given: list[dict[str, Any]], answer: object, place: int, **names: object) -> Span:
    used = _USAGE[place]
    counts = {"gen_ai.usage.input_tokens": used[0], "gen_ai.usage.output_tokens": used[1]}
    return model_span(
        {"acme.messages": json.dumps(given), "acme.completion": json.dumps(answer), **counts, **names}
    )


def test_ollama_counts_in_the_response_itself_and_has_no_ids() -> None:
    call = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "get_weather", "arguments": GIVEN}}],
    }

    def asked(messages: list[dict[str, Any]], answer: dict[str, Any], place: int) -> Span:
        counts = dict(zip(("prompt_eval_count", "eval_count"), _USAGE[place], strict=True))
        response = {"model": "m-1", "message": answer, "done": True, "done_reason": "stop", **counts}
        return _exchange({"model": "m-1", "messages": messages}, response)

    result = {"role": "tool", "tool_name": "get_weather", "content": json.dumps(RETURNED)}
    require_whole(
        [asked(ASKED, call, 0), tool_span(), asked([*ASKED, call, result], SAID, 1)],
        call_id=None,
    )


def test_cohere_counts_twice_and_tells_results_as_documents() -> None:
    def asked(messages: list[dict[str, Any]], answer: dict[str, Any], place: int) -> Span:
        given, made = _USAGE[place]
        billed = {"input_tokens": given - 5, "output_tokens": made}
        usage = {"billed_units": billed, "tokens": {"input_tokens": given, "output_tokens": made}}
        return _exchange(
            {"model": "m-1", "messages": messages},
            {"id": "r", "finish_reason": "COMPLETE", "message": answer, "usage": usage},
        )

    call = {"role": "assistant", "tool_calls": [CALL]}
    document = {"type": "document", "document": {"data": json.dumps(RETURNED)}}
    result = {"role": "tool", "tool_call_id": "c1", "content": [document]}
    answer = {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]}
    require_whole([asked(ASKED, call, 0), tool_span(), asked([*ASKED, call, result], answer, 1)])


def test_cohere_once_kept_the_last_message_and_results_apart_from_the_history() -> None:
    call = {"name": "get_weather", "parameters": GIVEN}

    def asked(request: dict[str, object], response: dict[str, object], place: int) -> Span:
        tokens = dict(zip(("input_tokens", "output_tokens"), _USAGE[place], strict=True))
        return _exchange(
            {"model": "m-1", "preamble": SYSTEM, **request}, {**response, "meta": {"tokens": tokens}}
        )

    history = [
        {"role": "USER", "message": QUESTION},
        {"role": "CHATBOT", "message": "", "tool_calls": [call]},
    ]
    first = asked(
        {"message": QUESTION, "chat_history": []},
        {"text": "", "finish_reason": "COMPLETE", "tool_calls": [call]},
        0,
    )
    results = [{"call": call, "outputs": [RETURNED]}]
    last = asked(
        {"message": "", "chat_history": history, "tool_results": results},
        {"text": ANSWER, "finish_reason": "COMPLETE"},
        1,
    )
    require_whole([first, tool_span(), last], call_id=None)


@pytest.mark.parametrize(
    "names", [("gen_ai.prompt_json", "gen_ai.completion_json"), ("gen_ai.input", "gen_ai.output")]
)
def test_names_under_that_of_the_conventions_that_these_do_not_have(names: tuple[str, str]) -> None:
    def asked(messages: list[dict[str, Any]], answer: dict[str, Any], place: int) -> Span:
        usage = dict(zip(("prompt_tokens", "completion_tokens"), _USAGE[place], strict=True))
        choice = {"index": 0, "message": answer, "finish_reason": "stop"}
        return _exchange(messages, {"model": "m-1", "choices": [choice], "usage": usage}, names)

    require_whole([asked(ASKED, CALLED, 0), tool_span(), asked(TOLD, SAID, 1)])


def test_a_call_told_by_its_function_alone_and_a_result_in_one_word() -> None:
    def asked(messages: list[dict[str, Any]], answer: list[dict[str, Any]], place: int) -> Span:
        given, made = _USAGE[place]
        return model_span(
            {
                "gen_ai.system_instructions": SYSTEM,
                "gen_ai.input.messages": json.dumps(messages),
                "gen_ai.output.messages": json.dumps(answer),
                "gen_ai.usage.input_tokens": given,
                "gen_ai.usage.output_tokens": made,
            }
        )

    question = {"role": "user", "content": [{"type": "text", "text": QUESTION}]}
    function = {"name": "get_weather", "arguments": GIVEN}
    call = {"role": "assistant", "content": [{"id": "c1", "call_id": None, "function": function}]}
    told = [{"type": "text", "text": json.dumps(RETURNED)}]
    result = {"role": "user", "content": [{"type": "toolresult", "id": "c1", "content": told}]}
    said = [{"role": "assistant", "content": [{"text": ANSWER}]}]
    require_whole([asked([question], [call], 0), tool_span(), asked([question, call, result], said, 1)])


@pytest.mark.parametrize("is_list", [True, False])
def test_the_kind_of_a_span_and_its_model_in_objects(is_list: bool) -> None:
    def made(kind: str, given: object, returned: object, **others: object) -> Span:
        attributes = {
            "acme.span_attributes": json.dumps({"type": kind, "name": "x"}),
            "acme.input_json": json.dumps(given),
            "acme.output_json": json.dumps(returned),
        }
        return make_span(
            {**attributes, **{f"acme.{key}": json.dumps(value) for key, value in others.items()}},
            "get_weather",
        )

    def asked(messages: list[dict[str, Any]], answer: dict[str, Any], place: int) -> Span:
        choices = [answer] if is_list else [{"index": 0, "message": answer, "finish_reason": "stop"}]
        usage = dict(zip(("prompt_tokens", "completion_tokens"), _USAGE[place], strict=True))
        return made("llm", messages, choices, metadata={"provider": "acme", "model": "m-1"}, metrics=usage)

    require_whole([asked(ASKED, CALLED, 0), made("tool", GIVEN, RETURNED), asked(TOLD, SAID, 1)])


def test_messages_as_a_list_of_texts_of_json() -> None:
    def asked(messages: list[dict[str, Any]], answer: dict[str, Any], place: int) -> Span:
        given, made = _USAGE[place]
        counts = {"acme.tokens_in": given, "acme.tokens_out": made}
        return model_span(
            {"acme.messages": [*map(json.dumps, messages)], "acme.completion": json.dumps(answer), **counts}
        )

    require_whole([asked(ASKED, CALLED, 0), tool_span(), asked(TOLD, SAID, 1)])


def test_one_event_for_each_message_under_a_name_of_its_own() -> None:
    def asked(messages: list[dict[str, Any]], answer: dict[str, Any], place: int) -> Span:
        def told(message: dict[str, Any]) -> dict[str, object]:
            said = {key: value for key, value in message.items() if key != "tool_calls" and value}
            return {
                **said,
                **({"tool_calls": json.dumps(message["tool_calls"])} if "tool_calls" in message else {}),
            }

        given, made = _USAGE[place]
        events = [event("acme.prompt", at, **told(message)) for at, message in enumerate(messages, 1)]
        return model_span(
            {"acme.usage.input": given, "acme.usage.output": made},
            events=[*events, event("acme.completion", 99, **told(answer))],
        )

    require_whole([asked(ASKED, CALLED, 0), tool_span(), asked(TOLD, SAID, 1)])


def test_calls_and_results_among_the_options_of_messages() -> None:
    call = {
        "role": "assistant",
        "content": "",
        "options": {"toolCall": [{"id": "c1", "name": "get_weather", "input": GIVEN}]},
    }
    result = {"id": "c1", "result": json.dumps(RETURNED), "isError": False}
    told = [
        *ASKED,
        call,
        {"role": "user", "content": json.dumps(RETURNED), "options": {"toolResult": result}},
    ]
    require_whole([_counted(ASKED, call, 0), tool_span(), _counted(told, SAID, 1)])


def test_what_python_prints_of_a_response() -> None:
    def asked(messages: list[dict[str, Any]], message: str, place: int) -> Span:
        given, made = _USAGE[place]
        response = f"model='m-1' done=True headers=<dict len=3> prompt_eval_count={given} eval_count={made} message={message}"
        return _exchange({"model": "m-1", "messages": messages}, response)

    function = f"ToolCall(function=Function(name='get_weather', arguments={GIVEN!r}))"
    call = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "get_weather", "arguments": GIVEN}}],
    }
    result = {"role": "tool", "content": json.dumps(RETURNED)}
    first = asked(ASKED, f"Message(role='assistant', content='', tool_calls=[{function}])", 0)
    last = asked([*ASKED, call, result], f"Message(role='assistant', content={ANSWER!r}, tool_calls=None)", 1)
    require_whole([first, tool_span(), last], call_id=None)


def test_a_kind_of_its_own_is_told_before_that_of_what_is_around() -> None:
    def made(kind: str, attributes: dict[str, object]) -> Span:
        return make_span({"entity.type": "agent", "span.type": kind, **attributes}, kind)

    def asked(messages: list[dict[str, Any]], answer: dict[str, Any], place: int) -> Span:
        given, made_tokens = _USAGE[place]
        counts = {"usage.prompt_tokens": given, "usage.completion_tokens": made_tokens, "llm.model": "m-1"}
        return made("llm", {"input": json.dumps(messages), "output": json.dumps(answer), **counts})

    first = asked(ASKED, CALLED, 0)
    names: dict[str, object] = {"tool.name": "get_weather", "tool.call.id": "c1"}
    tool = made("tool", {**names, "input": json.dumps(GIVEN), "output": json.dumps(RETURNED)})
    require_whole([first, tool, asked(TOLD, SAID, 1)])
