"""Which model was asked for and which answered, where a span names it with a gateway's prefix, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, agent, asks, chat, returned, rows, said, tool

HI = said("user", "Hi")
CALL = asks("search", {"q": "a"}, "c1")


def named(asked: str | None, answered: str | None = None) -> dict[str, str]:
    names = {"gen_ai__request__model": asked, "gen_ai__response__model": answered}
    return {key: name for key, name in names.items() if name}


@pytest.mark.parametrize(
    ("asked", "answered", "plain"),
    [
        ("openai/m", "m-2024-07-18", "m"),
        ("openai/m", "m", "m"),
        ("openai/m", "openai/m", "openai/m"),
        ("openai/m", "n-2024-07-18", "openai/m"),
        ("openai/m", None, "openai/m"),
        ("hub/org/m", "m", "hub/org/m"),
    ],
)
def test_a_provider_before_the_name_is_for_a_gateway_where_that_model_answered(
    asked: str, answered: str | None, plain: str
) -> None:
    (call,) = rows(agent(), chat(1, [HI], "Yes.", **named(asked, answered))).model_calls
    assert call.request_model == plain


def test_calls_that_went_through_a_gateway_have_the_same_name() -> None:
    told, untold = chat(1, [HI], "Yes.", **named("openai/m", "m")), chat(3, [HI], "No.", **named("openai/m"))
    assert [call.request_model for call in rows(agent(), told, untold).model_calls] == ["m", "m"]
    other = chat(3, [HI], "No.", **named("openai/m", "n"))
    assert {call.request_model for call in rows(agent(), told, other).model_calls} == {"openai/m"}


@pytest.mark.parametrize(
    ("answered", "expected"), [("m", ["m", "m"]), ("m-2024-07-18", [None, "m-2024-07-18"])]
)
def test_a_model_that_answers_under_its_own_name_answered_the_calls_before_that_a_prompt_retells(
    answered: str, expected: list[str | None]
) -> None:
    given = [HI, said("assistant", CALL), returned("c1", 1)]
    outer = chat(1, given, "Done.", takes=20, **named("m", answered))
    ran = tool(5, arguments={"q": "a"}, result=1, inside=outer.span_id, gen_ai__tool__call__id="c1")
    calls = rows(agent(), outer, ran).model_calls
    assert [call.response_model for call in calls] == expected


def test_a_printed_answer_names_the_model_that_gave_it() -> None:
    def model(text: str) -> str | None:
        printed = (
            f"Command(update={{'messages': [AIMessage(content='{text}', "
            "response_metadata={'model_name': 'm-2024-07-18', 'finish_reason': 'stop'})]})"
        )
        step = act("", 1, takes=5, name="model", x__output=json.dumps([printed]))
        inner = chat(2, [HI], "Yes.", inside=step.span_id, **named("m"))
        (call,) = rows(agent(), step, inner).model_calls
        return call.response_model

    assert model("Yes.") == "m-2024-07-18"
    assert model("No.") is None


@pytest.mark.parametrize(
    ("answered", "text", "expected"),
    [
        ("m", "Yes.", "m-2024-07-18"),
        ("m", "No.", "m"),
        ("n", "Yes.", "n"),
        ("m-2024-01-01", "Yes.", "m-2024-01-01"),
    ],
)
def test_a_model_that_is_named_as_it_was_asked_for_is_named_more_exactly_with_its_answer(
    answered: str, text: str, expected: str
) -> None:
    message = {"type": "ai", "content": text, "response_metadata": {"model_name": "m-2024-07-18"}}
    step = act("", 1, takes=5, name="model", x__output=json.dumps([message]))
    inner = chat(2, [HI], "Yes.", inside=step.span_id, **named("m", answered))
    (call,) = rows(agent(), step, inner).model_calls
    assert call.response_model == expected
    # As Python prints it, beside others.
    message_printed = (
        f"content={text!r} additional_kwargs={{}} response_metadata={{'model_name': 'm-2024-07-18'}}"
    )
    told = {"messages": ["content='Hi' additional_kwargs={} response_metadata={}", message_printed]}
    workflow = act("invoke_workflow", 1, takes=5, x__output=json.dumps(told))
    inner = chat(2, [HI], "Yes.", inside=workflow.span_id, **named("m", answered))
    (call,) = rows(agent(), workflow, inner).model_calls
    assert call.response_model == expected


def test_the_end_of_a_stream_that_is_handed_on_beside_the_answer_names_the_model_that_gave_it() -> None:
    def model(text: str, kind: str = "chat.completion.chunk", more: str = "") -> str | None:
        end = f"{{'id': 'r1', 'choices': [], 'model': 'm-2024-07-18', 'object': '{kind}', 'usage': None}}"
        message = "ChatMessage(role=<Role.ASSISTANT: 'assistant'>, blocks=[TextBlock(text='{}')])"
        given = f"AgentOutput(response={message.format(text)}, raw={end}{more})"
        step = act("", 4, name="parse", input__value=json.dumps({"ev": given}))
        (call,) = rows(agent(), chat(2, [HI], "Yes.", **named("m")), step).model_calls
        return call.response_model

    assert model("Yes.") == "m-2024-07-18"
    assert model("No.") is None
    assert model("Yes.", kind="invoice") is None
    assert model("Yes.", more=", other={'role': 'user', 'content': 'Yes.'}") is None


@pytest.mark.parametrize(
    ("request_model", "answered", "expected"),
    [("hub/m", "m-2024-07-18", "m"), ("m", "m", "m"), ("hub/n", "m", None), ("hub/m", None, None)],
)
def test_the_step_around_a_request_that_failed_was_given_the_model(
    request_model: str, answered: str | None, expected: str | None
) -> None:
    given: dict[str, Any] = {"model": request_model, "messages": [{"role": "user", "content": "Hi"}]}
    step = act("", 1, takes=5, name="generate", status="error", x__input=json.dumps(given))
    inner = chat(2, [HI], CALL, inside=step.span_id, **named(None, answered))
    (call,) = rows(agent(), step, inner).model_calls
    assert call.request_model == expected


def test_where_an_agent_has_both_names_the_wrong_way_round_its_requests_have_the_answerer_s_twice() -> None:
    def asked(**around: Any) -> list[str | None]:
        version = {"gen_ai__request__model": "m-2025-01-02", "gen_ai__response__model": "m-2025-01-02"}
        spans = agent(**around), chat(1, [HI], "Done.", **version)
        return [call.request_model for call in rows(*spans).model_calls]

    assert asked(**named("m-2025-01-02", "m")) == ["m"]
    # An agent that was set up with a name may have it pinned by its client.
    for around in (
        named("m"),
        named("m", "m"),
        named("m", "m-2025-01-02"),
        named(None, "m"),
        named("n", "m"),
        {},
    ):
        assert asked(**around) == ["m-2025-01-02"]


@pytest.mark.parametrize(
    ("key", "beside", "expected"),
    [
        ("kept.metadata.model_name", "m", "m"),
        ("kept.metadata.model", "m", "m"),
        ("kept.metadata.model_type", "m", "m-2024-07-18"),
        ("kept.metadata.model", "n", "m-2024-07-18"),
        ("kept.metadata.model", "m-2024-07-18", "m-2024-07-18"),
    ],
)
def test_a_model_with_a_date_that_is_called_both_was_asked_for_by_the_name_beside_it(
    key: str, beside: str, expected: str
) -> None:
    both = named("m-2024-07-18", "m-2024-07-18")
    (call,) = rows(agent(), chat(1, [HI], "Yes.", **both, **{key: beside})).model_calls
    assert (call.request_model, call.response_model) == (expected, "m-2024-07-18")
