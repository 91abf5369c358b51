"""Invariants of acts and of their ends: a made run that breaks one and is listed, and one that nearly does and is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from doubted import ASKED, OSLO, SNOW, doubts, one_doubt, weather
from made_runs import act, agent, asks, chat, returned, said, tool

from retrospan.ingest.interpret.spans.span import Span


@pytest.mark.parametrize("reason", ["tool_calls", "tool_use", "tool-calls", "TOOL_CALL", "function_call"])
def test_an_answer_that_ended_for_calls_holds_one(reason: str) -> None:
    root, read = agent(), {"gen_ai__response__finish_reasons": [reason]}
    assert one_doubt(root, chat(1, [ASKED], "I will look.", **read))[0] == "finish_reasons"
    asking = chat(1, [ASKED], "I will look.", asks("weather"), **read)
    assert one_doubt(root, asking)[1].endswith("and the run ended well")  # and no answer came after it
    # What is not on record is not doubtful; an API may call the end of an answer with calls a stop.
    assert doubts(root, chat(1, [ASKED], **read)) == []
    stopped = {"gen_ai__response__finish_reasons": ["stop"]}
    assert one_doubt(root, chat(1, [ASKED], asks("weather"), **stopped))[0] == "output"


def test_an_agent_executes_what_its_model_asked_for() -> None:
    more = tool(4, "weather", {"city": "Bergen"}, "rain")
    assert one_doubt(*weather(), more) == (
        "tool_calls",
        "this execution was asked for by no answer that is read",
    )
    # Another tool where nothing says which there are; one that the model was never offered.
    assert one_doubt(*weather(), tool(4, "search", {}, "rain"))[0] == "tool_calls"
    offered = json.dumps([{"type": "function", "name": "weather"}])
    first = chat(1, [ASKED], asks("weather", OSLO, "c1"), gen_ai__tool__definitions=offered)
    assert doubts(agent(), first, *weather()[2:], tool(4, "search", {}, "rain")) == []


def test_an_execution_may_be_tried_again_or_be_of_the_program() -> None:
    call = asks("weather", OSLO)
    first = chat(1, [ASKED], call)
    failed = tool(3, "weather", OSLO, error="Timeout", status="error")
    again = tool(5, "weather", OSLO, "snow")
    assert doubts(agent(), first, failed, again) == []
    # Below a step, or in another tool, the program may execute what it likes.
    step = act("", 3.2, takes=2, span_id=f"{900:016x}", name="prepare", langgraph_node="prepare")
    step.attributes = {"openinference.span.kind": "CHAIN"}
    inside = tool(3.5, "weather", {"city": "Bergen"}, "rain", inside=step.span_id)
    assert doubts(*weather(), step, inside) == []
    outer = tool(3.2, "forecast", {}, "rain", span_id=f"{901:016x}")
    nested = tool(3.5, "weather", {"city": "Bergen"}, "rain", inside=outer.span_id)
    assert [field for field, _ in doubts(*weather(), outer, nested)] == ["tool_calls"]  # the outer one


def test_a_span_called_like_a_call_is_its_execution() -> None:
    first, last = chat(1, [ASKED], asks("weather", OSLO, "c1")), chat(5, [ASKED], SNOW)
    # Which of two it is cannot be known.
    both = act("", 3, name="weather"), act("", 4, name="weather")
    assert [field for field, _ in doubts(agent(), first, *both, last)] == ["tool_calls", "tool_calls"]
    again = "the prompt before it again, though tools ran that its answer asked for"
    assert one_doubt(agent(), first, both[0], last) == ("input_messages", again)
    assert doubts(agent(), first, act("", 3, name="GET /weather"), last) == []
    assert doubts(*weather(), act("", 3, name="weather")) == []
    # An agent may be a tool.
    assert doubts(agent(), first, act("invoke_agent", 3, name="weather"), last) == []
    told = chat(5, [ASKED, said("assistant", asks("weather", OSLO, "c1")), returned("c1", "snow")], SNOW)
    assert doubts(agent(), first, act("", 3, name="weather"), told) == []


def test_a_prompt_that_is_counted_longer_holds_more_than_the_one_before() -> None:
    def run(first: int | None, second: int | None, *answer: Any) -> list[tuple[str, str]]:
        counts = [{"gen_ai__usage__input_tokens": count} if count else {} for count in (first, second)]
        asking = chat(1, [ASKED], *(answer or [asks("weather", OSLO, "c1")]), **counts[0])
        return doubts(agent(), asking, chat(5, [ASKED], SNOW, **counts[1]))

    assert [field for field, _ in run(100, 150)] == ["input_messages"]
    # Asked again with the same; not counted; the program asked again without a tool between.
    assert run(100, 100) == run(150, 100) == run(None, 150) == run(100, 150, SNOW) == []


def test_one_model_call_is_one_answer() -> None:
    call = chat(1, [ASKED], SNOW, span_id=f"{7:016x}", takes=5)
    below = [act("", at, name="raw", inside=call.span_id, llm__openai__id=f"resp-{at}") for at in (2, 3)]
    assert one_doubt(agent(), call, *below)[0] == "model_calls"
    assert doubts(agent(), call, below[0]) == []


def test_tokens_of_an_answer_are_of_one_that_is_read() -> None:
    def run(**more: object) -> list[tuple[str, str]]:
        return doubts(agent(), chat(1, [ASKED], SNOW), chat(3, [ASKED], **more))

    assert [field for field, _ in run(gen_ai__usage__output_tokens=9)] == ["output_messages"]
    assert run() == []
    assert run(gen_ai__usage__output_tokens=9, error="Cut", status="error") == []
    # Where no answer is on record, that is a choice.
    assert doubts(agent(), chat(1, [ASKED], gen_ai__usage__output_tokens=9)) == []
    # Of one that ended for tools it is known why nothing is told, where no answer tells a call.
    counted: dict[str, Any] = {"gen_ai__usage__output_tokens": 9}
    ended = {**counted, "gen_ai__completion__0__finish_reason": "tool_calls"}
    assert run(**ended) == []
    assert run(**{**ended, "gen_ai__completion__0__finish_reason": "stop"}) != []
    assert "output_messages" in [field for field, _ in doubts(*weather(), chat(7, [ASKED], **ended))]


def test_what_a_model_said_is_the_answer_of_a_call() -> None:
    def run(returned: object, *more: Span) -> list[tuple[str, str]]:
        return doubts(agent(gen_ai__completion=json.dumps(returned)), *more)

    message = {"role": "assistant", "content": SNOW}
    assert [field for field, _ in run({"response": message})] == ["output"]
    assert [field for field, _ in run([[{"last": message}]])] == ["output"]
    assert run({"response": message}, chat(1, [ASKED], SNOW)) == []
    assert run({"response": {"role": "user", "content": SNOW}}) == []
    assert run({"role": "clerk"}) == []


def test_an_execution_has_the_id_of_its_call() -> None:
    def run(asked: str | None, executed: str | None) -> list[tuple[str, str]]:
        named = {} if executed is None else {"gen_ai__tool__call__id": executed}
        return doubts(
            agent(), chat(1, [ASKED], asks("weather", OSLO, asked)), tool(3, "weather", OSLO, **named)
        )

    assert run("fc_1", "call_1") == [
        ("tool_call_id", "the execution has this id, and the call that seems to have asked for it fc_1")
    ]
    assert run("c1", "c1") == run(None, "c1") == run("c1", None) == []


def test_a_call_whose_execution_nothing_shows_is_listed() -> None:
    first, call = asks("weather", OSLO, "c1"), asks("weather", {"city": "Bergen"}, "c2")
    told = [ASKED, said("assistant", first), returned("c1", "snow")]
    run = agent(), chat(1, [ASKED], first), chat(3, told, call)
    assert [field for field, _ in doubts(*run)] == ["tool_calls", "output"]
    executed = tool(2, "weather", OSLO, "snow", gen_ai__tool__call__id="c1")
    # Executions have spans: this one has none.
    assert [field for field, _ in doubts(*run, executed)] == ["output"]
    assert [field for field, _ in doubts(agent(), chat(1, [ASKED], first))] == [
        "output"
    ]  # nothing is known of any


@pytest.mark.parametrize(
    ("message", "is_doubted"),
    [
        ('[{"code": "invalid_type", "path": ["structuredContent"], "message": "expected record"}]', True),
        ("Invalid structured content returned by tool weather: 3 is not of type 'object'", True),
        ("Output validation error: outputSchema defined but no structured output returned", True),
        ("Tool weather has an output schema but did not return structured content", True),
        ("Input validation error: 'city' is a required property", False),
        ("no such city", False),
    ],
)
def test_a_result_that_the_client_refused_may_be_a_success(message: str, is_doubted: bool) -> None:
    failed = tool(3, "weather", OSLO, error="ToolError", gen_ai__tool__call__id="c1", status_message=message)
    failed.events.clear()
    call = asks("weather", OSLO, "c1")
    last = chat(5, [ASKED, said("assistant", call), returned("c1", message)], SNOW)
    found = doubts(agent(), chat(1, [ASKED], call), failed, last)
    assert [field for field, reason in found if "refused" in reason] == ["tool_calls"] * is_doubted


def test_a_prompt_in_a_run_without_model_calls_is_one_that_was_not_read() -> None:
    prompt = json.dumps([{"role": "user", "content": "How is Oslo?"}])
    assert one_doubt(agent(), act("", 1, sent=prompt))[0] == "model_calls"
    assert doubts(agent(), act("", 1, sent="How is Oslo?")) == []
    assert doubts(agent(), act("", 1, sent=prompt), chat(3, [ASKED], SNOW)) == []


def test_a_call_that_is_how_the_agent_answers_is_in_no_doubt() -> None:
    def found(answer: str, **more: Any) -> list[tuple[str, str]]:
        asked = said("assistant", asks("weather", OSLO, "c1"))
        last = asks("final_answer", {"answer": "Snow.", **more}, "c2")
        calls = [
            chat(1, [ASKED], asks("weather", OSLO, "c1")),
            chat(5, [ASKED, asked, returned("c1", SNOW)], last),
        ]
        output = json.dumps([said("assistant", answer)])
        return [
            each for each in doubts(agent(gen_ai__output__messages=output), *calls) if each[0] == "tool_calls"
        ]

    reason = "asked for, and nothing shows whether it was executed: executions have no spans here"
    assert found("Snow.") == []
    assert found("Rain.") == found("Snow.", urgent=True) == [("tool_calls", reason)]
