"""What only the client tells of a request, which keeps its requests and is given to the steps that follow."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, agent, chat, rows, said

from retrospan.ingest.interpret.spans.span import Span
from retrospan.schemas.canonical import ModelCallRow

HI = said("user", "Hi")


def exchange(question: str, answer: str, tokens: tuple[int, int]) -> dict[str, Any]:
    """Return what a client keeps of a request and its response, which Python printed."""
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    return {
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": question}],
        "response": f"ModelResponse(id='r-1', model='m-2024-07-18', choices=[Choices(finish_reason='stop', index=0, "
        f"message=Message(content={answer!r}, role='assistant', tool_calls=None))], usage=Usage(completion_tokens={tokens[1]}, "
        f"prompt_tokens={tokens[0]}, total_tokens={sum(tokens)}))",
        "usage": usage,
        "model": "hub/m",
    }


def step(at: float, *kept: dict[str, Any], **more: Any) -> Span:
    """Return a step that was given the client, for two seconds."""
    client = {"model": "hub/m", "history": [*kept], "kwargs": {}}
    return act("", at, takes=2, name="adapter", input__value=json.dumps({"lm": client, **more}))


def asked(*spans: Span) -> list[ModelCallRow]:
    return rows(agent(), *spans).model_calls


def loop(*tokens: tuple[int, int]) -> list[Span]:
    """Return requests that ask and answer the same, each in a step that is given what was kept before."""
    spans: list[Span] = []
    for number in range(len(tokens) + 1):
        outer = step(number * 5, *(exchange("Hi", "Yes.", count) for count in tokens[:number]))
        spans += [outer, chat(number * 5 + 0.5, [HI], "Yes.", inside=outer.span_id)]
    return spans


def test_models_and_counts_are_those_of_the_request_that_the_client_keeps_last() -> None:
    one, two, last = asked(*loop((100, 20), (150, 25)))
    assert [(c.request_model, c.response_model) for c in (one, two)] == [("m", "m-2024-07-18")] * 2
    assert [(c.input_tokens, c.output_tokens) for c in (one, two)] == [(100, 20), (150, 25)]
    # What is given to nobody any more is not known, but for the model that was asked for.
    assert (last.request_model, last.response_model, last.input_tokens) == ("m", None, None)


@pytest.mark.parametrize(
    "kept", [exchange("Hi", "No.", (1, 1)), exchange("Ho", "Yes.", (1, 1)), {"messages": 1}]
)
def test_what_the_client_keeps_of_another_request_is_not_taken(kept: dict[str, Any]) -> None:
    outer = step(0)
    (call,) = asked(outer, chat(0.5, [HI], "Yes.", inside=outer.span_id), step(5, kept))
    assert (call.request_model, call.response_model, call.input_tokens) == ("hub/m", None, None)


def test_what_a_request_says_itself_stays() -> None:
    outer = step(0)
    own = chat(
        0.5, [HI], "Yes.", inside=outer.span_id, gen_ai__request__model="n", gen_ai__usage__input_tokens=7
    )
    (call,) = asked(outer, own, step(5, exchange("Hi", "Yes.", (100, 20))))
    assert (call.request_model, call.response_model, call.input_tokens) == ("n", None, 7)


def test_a_request_that_failed_was_asked_of_the_model_of_its_client() -> None:
    outer = step(0)
    failed = chat(0.5, [HI], inside=outer.span_id, error="Timeout")
    (call,) = asked(outer, failed, step(5, exchange("Hi", "Yes.", (100, 20))))
    assert (call.request_model, call.response_model, call.input_tokens) == ("hub/m", None, None)
