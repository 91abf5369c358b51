"""Prompts under numbers in which a message has a role and nothing else, and answers of which only their tokens are known."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from made_runs import RUN, agent, asks, chat, rows, said, tool
from made_spans import event
from spans import read_run

from retrospan.ingest.interpret.spans.span import Span

GIVEN = {"query": "warranty"}
ASKED = said("user", "Which warranty?")
CALL = asks("search", GIVEN, "call_1234567890ab")


def numbered(at: float, *messages: tuple[str, str], text: str = "", answer: str = "") -> Span:
    """Return a request whose prompt stands under numbers: (role, content), '' for none."""
    fields: dict[str, object] = {}
    for number, (role, content) in enumerate(messages):
        fields[f"gen_ai.prompt.{number}.role"] = role
        if content:
            fields[f"gen_ai.prompt.{number}.content"] = content
    fields["gen_ai.output.messages"] = answer or json.dumps([said("assistant", text)])
    return replace(chat(at), attributes={**chat(at).attributes, **fields})


def second_prompt(result: object) -> list[tuple[str, str, object]]:
    """Return (role, kind, result) of each part of the prompt after a tool returned something, of which only roles are told."""
    answer = json.dumps([said("assistant", CALL)])
    asking = numbered(1, ("user", "Which warranty?"), answer=answer)
    ran = tool(3, "search", GIVEN, result, gen_ai__tool__call__id="call_1234567890ab")
    second = numbered(5, ("user", "Which warranty?"), ("assistant", ""), ("tool", ""), text="None.")
    run = read_run(RUN, [agent(), asking, ran, second])
    (call,) = run.calls.tools
    assert (call.result, call.status) == (result, "ok")
    told = run.calls.models[-1].input
    return [
        (message["role"], str(part["type"]), part.get("response"))
        for message in told
        for part in message["parts"]
    ]


def test_a_tool_that_returned_nothing_has_answered() -> None:
    asked = [("user", "text", None), ("assistant", "tool_call", None)]
    assert second_prompt([]) == [*asked, ("tool", "tool_call_response", [])]
    assert second_prompt({}) == [*asked, ("tool", "tool_call_response", {})]


def test_what_a_model_was_told_of_a_result_stays_unknown_where_it_was_something() -> None:
    asked = [("user", "text", None)]
    assert second_prompt({"terms": "two years"}) == [*asked, ("tool", "tool_call_response", None)]


def test_an_answer_that_is_told_as_empty_is_listed_where_it_has_tokens() -> None:
    told = json.dumps([{"role": "assistant", "content": ""}])

    def problems(completion: str = told, **more: Any) -> list[str]:
        events = [
            event("gen_ai.content.prompt", gen_ai__prompt=json.dumps([{"role": "user", "content": "Hi"}])),
            event("gen_ai.content.completion", gen_ai__completion=completion),
        ]
        call = replace(chat(1, gen_ai__usage__output_tokens=20, **more), events=events)
        return [each.reason for each in rows(agent(), call).problems if each.field == "output_messages"]

    assert problems() == ["tokens of an answer, and none is read; it is told as empty"]
    assert problems(told.replace('""', '"Two years."')) == []
    assert problems(gen_ai__response__finish_reasons=["tool_calls"]) == []
    # A place under a number, with nothing in it.
    empty = chat(1, [ASKED], gen_ai__usage__output_tokens=20, gen_ai__completion__0__content=None)
    assert [each.reason for each in rows(agent(), empty).problems] == [
        "tokens of an answer, and none is read; it is told as empty"
    ]
    # Where the place itself is missing, that is a choice.
    silent = chat(1, [ASKED], gen_ai__usage__output_tokens=20)
    assert not [each for each in rows(agent(), silent).problems if each.field == "output_messages"]
