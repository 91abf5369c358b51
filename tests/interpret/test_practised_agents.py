"""Forms that agents' newest instrumentations were seen to send: what is particular in each is a rule for all."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from made_runs import act, agent, asks, chat, rows, said, tool
from recordings.record.pure_views import views_of_spans

from retrospan.ingest.interpret.spans.span import Event

ASKED = said("user", "Is it cold?")


def ended(reason: str, text: str = "The context is too long.") -> str:
    return json.dumps([{**said("assistant", text), "finish_reason": reason}])


@pytest.mark.parametrize(("reason", "outcome"), [("error", "error"), ("failed", "error"), ("stop", "ok")])
def test_an_agent_whose_answer_ended_with_an_error_did_not_answer(reason: str, outcome: str) -> None:
    top = agent(
        gen_ai__input__messages=json.dumps([ASKED]),
        gen_ai__output__messages=ended(reason),
        gen_ai__request__model="m",
    )
    found = rows(top, tool(1, "look", gen_ai__tool__call__id="c1", result="Yes."))
    (run,) = found.runs
    assert run.outcome == outcome
    assert run.output == (None if outcome == "error" else "The context is too long.")


def test_an_answer_that_tells_of_an_end_like_an_error_is_an_answer() -> None:
    text = 'It says {"finish_reason": "error"}.'
    (run,) = rows(agent(gen_ai__output__messages=ended("stop", text))).runs
    assert (run.outcome, run.output) == ("ok", text)


def printed(content: str) -> str:
    return f"content={content!r} additional_kwargs={{}} response_metadata={{}} id='21b9'"


@pytest.mark.parametrize(
    "told", [["Is it cold?"], ["Is it cold?", "I will look."], ["I will look."]], ids=str
)
def test_a_printed_message_that_names_no_speaker_is_not_what_was_asked(told: list[str]) -> None:
    node = act(
        "chain",
        1,
        takes=4,
        inside="ef" * 8,
        span_id="cd" * 8,
        gen_ai__span__kind="CHAIN",
        input__value=json.dumps({"messages": [*map(printed, told)]}),
    )
    found = rows(node, chat(2, [ASKED], asks("look", {}, "c1"), inside="cd" * 8))
    assert (found.runs[0].outcome, found.runs[0].input) == ("incomplete", "Is it cold?")


def test_what_only_begins_like_a_printed_message_is_what_was_asked() -> None:
    asked = "content='x' is wrong. Why?"
    (run,) = rows(agent(gen_ai__input__messages=json.dumps([said("user", asked)]))).runs
    assert run.input == asked


@pytest.mark.parametrize(
    ("payload", "instructions"),
    [
        ({"id": "resp_1", "created_at": 1.0, "model": "m", "instructions": "Be brief."}, "Be brief."),
        ({"id": "resp_1", "created_at": 1.0, "model": "m", "instructions": None}, None),
        ({"model": "m", "instructions": "Be brief."}, None),
    ],
    ids=str,
)
def test_the_fields_of_a_response_repeat_the_instructions(
    payload: dict[str, object], instructions: str | None
) -> None:
    call = chat(1, [ASKED], "No.", acme__execution__payload=json.dumps(payload))
    (found,) = views_of_spans([agent(), call]).model_calls
    told = json.loads(found["system_instructions"] or "null")
    assert told == (None if instructions is None else [{"type": "text", "content": instructions}])


@pytest.mark.parametrize(
    ("noted", "version"),
    [
        (
            {"chat_responses": [{"message": {"response_metadata": {"model_name": "m-2024-07-18"}}}]},
            "m-2024-07-18",
        ),
        ({"chat_responses": [{"generation_info": {}}]}, "m"),
        ({"chat_inputs": [{"message": {"response_metadata": {"model_name": "m-2024-07-18"}}}]}, "m"),
        ({"chat_responses": [{"model_name": "m-2024-07-18"}, {"model_name": "m-2024-09-01"}]}, "m"),
    ],
    ids=str,
)
def test_the_only_response_that_is_kept_of_a_request_names_the_version_that_answered(
    noted: dict[str, object], version: str
) -> None:
    call = act(
        "",
        1,
        openinference__span__kind="LLM",
        llm__model_name="m",
        input__value=json.dumps([{"role": "user", "content": "Is it cold?"}]),
        output__value="No.",
        acme__metadata=json.dumps(noted),
    )
    (found,) = views_of_spans([agent(), call]).model_calls
    assert (found["request_model"], found["response_model"]) == ("m", version)


@pytest.mark.parametrize("operation", ["invoke_swarm", "invoke_graph", "run_team"])
def test_an_operation_of_several_agents_is_their_workflow(operation: str) -> None:
    """What it was asked is what the run was asked, whatever words of its own a program gives to the agents inside."""
    asked = Event(name="gen_ai.user.message", time_ns=0, attributes={"content": "Is it cold?"})
    top = replace(act(operation, 0, takes=100, span_id=f"{1:016x}", parent_span_id=""), events=[asked])
    told = said("user", "User Request: Is it cold?\n\nOther agents: milo.")
    inner = agent(span_id="a" * 16, parent_span_id=f"{1:016x}", takes=50)
    (run,) = rows(top, inner, chat(2, [told], "Yes.", inside="a" * 16)).runs
    assert (run.agent_name, run.input, run.output) == ("orla", "Is it cold?", "Yes.")
