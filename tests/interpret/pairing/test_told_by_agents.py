"""The model calls of a run whose agent's output is what its model said, one message for each part, without results."""

from __future__ import annotations

import json
from typing import Any

from made_runs import RUN, act, agent, said, tool
from spans import read_run, read_runs

from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.messages.message import Message, Part
from retrospan.ingest.interpret.run import InterpretedRun
from retrospan.ingest.interpret.spans.span import Span

ASKED = said("user", "How is Oslo?")


def text(content: str) -> dict[str, object]:
    return {"role": "assistant", "parts": [{"type": "text", "content": content}]}


def call(call_id: str, city: str = "Oslo") -> dict[str, object]:
    part = {"type": "tool_call", "id": call_id, "name": "weather", "arguments": {"city": city}}
    return {"role": "assistant", "parts": [part]}


def weather(call_id: str, at: float, *, takes: float = 1, **more: Any) -> Span:
    return tool(at, "weather", {"city": "Oslo"}, "snow", takes=takes, gen_ai__tool__call__id=call_id, **more)


def told(answers: list[dict[str, object]], *tools: Span, **more: Any) -> InterpretedRun:
    root = agent(
        gen_ai__input__messages=json.dumps([ASKED]), gen_ai__output__messages=json.dumps(answers), **more
    )
    return read_run(RUN, [root, *tools])


def kinds(model: ModelCall) -> list[str]:
    return [str(part["type"]) for message in model.span.output for part in message["parts"]]


def results(messages: list[Message]) -> list[Part]:
    return [part for message in messages for part in message["parts"] if part["type"] == "tool_call_response"]


def test_each_answer_is_a_call_and_was_given_what_the_tools_before_it_returned() -> None:
    run = told(
        [text("I look."), call("c1"), call("c2"), text("Snow."), text("Twice.")],
        weather("c1", 2),
        weather("c2", 5),
        gen_ai__request__model="m-1",
        gen_ai__system_instructions="Be brief",
    )
    first, second, third = run.calls.models
    assert [kinds(model) for model in (first, second, third)] == [
        ["text", "tool_call"],
        ["tool_call"],
        ["text", "text"],
    ]
    assert [message["role"] for message in third.input] == ["user", "assistant", "tool", "assistant", "tool"]
    assert [part.get("id") for part in results(third.input)] == ["c1", "c2"]
    assert [(model.span.request_model, model.span.system) for model in (first, third)] == [
        ("m-1", [{"type": "text", "content": "Be brief"}])
    ] * 2
    assert [(each.call_id, each.status, each.result) for each in run.calls.tools] == [
        ("c1", "ok", '"snow"'),
        ("c2", "ok", '"snow"'),
    ]
    assert (run.input, run.output) == ("How is Oslo?", "Snow.\nTwice.")


def test_calls_whose_tools_run_at_the_same_time_are_of_one_answer() -> None:
    run = told([call("c1"), call("c2"), text("Snow.")], weather("c1", 2, takes=4), weather("c2", 3, takes=4))
    assert [kinds(model) for model in run.calls.models] == [["tool_call", "tool_call"], ["text"]]


def test_calls_of_which_nothing_more_is_known_are_of_an_answer_each() -> None:
    run = told([call("c1"), call("c2"), text("Snow.")])
    assert [kinds(model) for model in run.calls.models] == [["tool_call"], ["tool_call"], ["text"]]
    assert results(run.calls.models[-1].input) == []


def test_a_tool_that_failed_returned_an_error() -> None:
    run = told([call("c1"), text("I cannot.")], weather("c1", 2, error="Locked", status="error"))
    (result,) = results(run.calls.models[-1].input)
    assert result.get("is_error") is True


def test_answers_without_any_call_or_question_tell_no_calls() -> None:
    assert told([text("Snow.")]).calls.models == []
    nobody_asked = agent(gen_ai__output__messages=json.dumps([call("c1"), text("Snow.")]))
    assert read_run(RUN, [nobody_asked]).calls.models == []


def test_where_a_request_has_a_span_the_agent_tells_no_more() -> None:
    root = agent(
        gen_ai__input__messages=json.dumps([ASKED]),
        gen_ai__output__messages=json.dumps([call("c1"), text("Snow.")]),
    )
    request = act("chat", 1, gen_ai__input__messages=json.dumps([ASKED]))
    assert len(read_run(RUN, [root, request]).calls.models) == 1


def test_what_an_mcp_server_did_is_a_run_only_with_those_who_asked_it() -> None:
    served = act("execute_tool", 1, gen_ai__tool__name="weather", mcp__method__name="tools/call")
    assert read_runs([served]) == []
    (run,) = read_runs([agent(), served])
    assert [each.name for each in run.calls.tools] == ["weather"]
    named = act("execute_tool", 2, gen_ai__tool__name="weather")
    assert len(read_runs([named])) == 1
