"""What log records tell of executions and of the person, beside spans that tell little."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from made_spans import chat_span, make_span, text
from spans import read_run

from retrospan.ingest.interpret.spans.span import LogRecord, Span

_ID = "call_9f8e7d6c5b4a"


def _record(event: str, body: object = None, **attributes: object) -> LogRecord:
    return LogRecord(event=event, time_ns=1, body=body, attributes=attributes, order=(1, 1, event))


def _run(*records: LogRecord, **attributes: object) -> Any:
    step = make_span({}, "dispatch", logs=list(records))
    tool = make_span(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "look",
            "gen_ai.tool.call.id": _ID,
            **attributes,
        },
        parent_span_id=step.span_id,
    )
    return read_run("r", [step, tool])


def _tool(*records: LogRecord, **attributes: object) -> Any:
    (tool,) = _run(*records, **attributes).calls.tools
    return tool


def test_a_record_that_names_a_call_tells_its_arguments_and_its_result() -> None:
    tool = _tool(_record("acme.tool_result", call_id=_ID, arguments='{"q": "x"}', output='{"n": 1}'))
    assert (tool.arguments, tool.result, tool.status) == ({"q": "x"}, {"n": 1}, "ok")


@pytest.mark.parametrize("fate", [{"success": "false"}, {"success": False}, {"is_error": True}])
def test_a_record_tells_that_its_call_failed(fate: dict[str, object]) -> None:
    tool = _tool(_record("acme.tool_result", call_id=_ID, output="locked", **fate))
    assert (tool.status, tool.error_message) == ("error", "locked")


def test_what_a_span_says_itself_stands() -> None:
    tool = _tool(
        _record("acme.tool_result", call_id=_ID, arguments='{"q": "y"}', output="2"),
        **{"gen_ai.tool.call.arguments": '{"q": "x"}', "gen_ai.tool.call.result": "1"},
    )
    assert (tool.arguments, tool.result) == ({"q": "x"}, "1")


def test_a_record_of_another_call_or_one_that_only_quotes_the_id_tells_nothing() -> None:
    others = (
        _record("acme.tool_result", call_id="call_000000000000", output="2"),
        _record("acme.note", note=f"the call {_ID} is late", output="2"),
    )
    tool = _tool(*others)
    assert (tool.arguments, tool.result) == (None, None)


def test_what_is_written_over_an_output_for_the_model_is_not_of_the_tool() -> None:
    output = 'Exit code: 0\nWall time: 0.01 seconds\nOutput:\n{"n": 1}'
    assert _tool(_record("acme.tool_result", call_id=_ID, output=output)).result == {"n": 1}
    quoted = "Status: open\nOutput:\nsold out"
    assert _tool(_record("acme.tool_result", call_id=_ID, output=quoted)).result == quoted


def _asked(*records: LogRecord) -> str | None:
    counts: dict[str, object] = {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2}
    return read_run("r", [make_span({}, "turn", logs=list(records)), make_span(counts)]).input


@pytest.mark.parametrize(
    "record",
    [
        _record("acme.user_prompt", prompt="Weather?", prompt_length="8"),
        _record("user.message", "Weather?"),
        _record("src/telemetry.rs:12", **{"event.name": "acme.user_prompt", "prompt": "Weather?"}),
    ],
)
def test_a_record_of_what_a_person_asked_is_the_input_where_no_prompt_is_told(record: LogRecord) -> None:
    assert _asked(record) == "Weather?"


def test_a_record_that_leaves_it_out_or_is_of_something_else_is_none() -> None:
    assert _asked(_record("acme.user_prompt", prompt_length="8")) is None
    assert _asked(_record("acme.user_prompt_cache", prompt="Weather?")) is None
    assert _asked(_record("acme.system_prompt", prompt="You are Orla.")) is None


def test_what_the_model_was_given_stands_over_a_record() -> None:
    call: Span = chat_span([text("user", "And in Oslo?")], [text("assistant", "Snow.")])
    call.logs.append(_record("acme.user_prompt", prompt="Weather?"))
    assert read_run("r", [call]).input == "And in Oslo?"


@pytest.mark.parametrize("element", ["session_context", "environment_context", "system-reminder"])
def test_what_a_program_puts_beside_the_words_of_a_person_is_not_theirs(element: str) -> None:
    beside = {"type": "text", "content": f"<{element}>\nToday is Monday.\n</{element}>"}
    words = {"type": "text", "content": "Weather?"}
    call = chat_span([{"role": "user", "parts": [beside, words]}], [text("assistant", "Snow.")])
    assert read_run("r", [call]).input == "Weather?"


def test_an_element_that_a_person_sent_is_theirs() -> None:
    alone = "<session_context>What is this?</session_context>"
    assert read_run("r", [chat_span([text("user", alone)], [text("assistant", "A tag.")])]).input == alone
    document = {"type": "text", "content": "<document>Rules</document>"}
    question = {"type": "text", "content": "Sum it up."}
    call = chat_span([{"role": "user", "parts": [question, document]}], [text("assistant", "Rules.")])
    assert read_run("r", [call]).input == "Sum it up.\n<document>Rules</document>"


def test_instructions_that_are_a_text_of_json_are_that_text() -> None:
    def system(said: str) -> object:
        call = chat_span([text("user", "Hi")], [text("assistant", "Hello.")])
        call = replace(call, attributes={**call.attributes, "gen_ai.system_instructions": said})
        (model,) = read_run("r", [call]).calls.models
        return [part.get("content") for part in model.span.system]

    assert system(json.dumps('Say "hi".\nBe kind.')) == ['Say "hi".\nBe kind.']
    assert system('"Hello," she said, "world"') == ['"Hello," she said, "world"']
