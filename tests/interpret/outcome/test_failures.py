"""Errors read as errors: each once, with origin and class, and tries of the same tied together."""

from __future__ import annotations

import json

import pytest
from fix_recordings import Recording, load_recording, manifest
from spans import read_run, rows_of_recording

from retrospan.ingest.interpret.outcome.error_taxonomy import (
    class_of,
    origin_of_model,
    origin_of_rest,
    origin_of_tool,
)
from retrospan.ingest.interpret.outcome.failures import Failure
from retrospan.ingest.interpret.run import InterpretedRun
from retrospan.ingest.interpret.spans.span import Event, Span


@pytest.mark.parametrize(
    ("error_type", "message", "expected"),
    [
        ("ReadTimeout", "", "transient"),
        ("openai.RateLimitError", "Error code: 429 - slow down", "transient"),
        ("503", "", "transient"),
        ("ConnectionResetError", "[Errno 104] Connection reset by peer", "transient"),
        ("RecordLocked", "record C-2077 is locked by another writer", "transient"),
        ("openai.BadRequestError", "Error code: 400 - unknown field", "systematic"),
        ("openai.BadRequestError", "Error code: 400 - connection is no such field", "systematic"),
        ("ValidationError", "1 validation error for Order", "systematic"),
        ("KeyError", "'city'", "systematic"),
        (
            "openai.BadRequestError",
            "Error code: 400 - maximum context length is 128000 tokens",
            "architectural",
        ),
        ("GraphRecursionError", "Recursion limit of 25 reached", "architectural"),
        ("MaxTurnsExceeded", "Max turns (10) exceeded", "architectural"),
        (None, "unknown tool 'serach'", "architectural"),
        ("Trouble", "it holds 500 items", None),
        (None, None, None),
    ],
)
def test_the_class_follows_from_type_and_message(
    error_type: str | None, message: str | None, expected: str | None
) -> None:
    assert class_of(error_type, message, False, False) == expected


def test_what_other_tries_showed_decides_where_words_do_not() -> None:
    assert class_of("Trouble", "x", True, False) == "transient"
    assert class_of("Trouble", "x", False, True) == "systematic"
    assert class_of("ContextWindowExceeded", "x", True, False) == "architectural"


def test_origins() -> None:
    offered = [{"type": "function", "function": {"name": "search"}}, {"name": "send"}]
    assert origin_of_tool("search", offered, False, "Locked", "busy") == "tool_response"
    assert origin_of_tool("serach", offered, False, "Locked", "busy") == "tool_invocation"
    assert origin_of_tool("serach", None, False, "Locked", "busy") == "tool_response"
    assert origin_of_tool("search", offered, True, None, None) == "tool_invocation"
    assert origin_of_tool(
        "search", offered, False, "TypeError", "got an unexpected keyword argument 'k'"
    ) == ("tool_invocation")
    assert origin_of_model("RateLimitError", "429") == "reasoning"
    assert origin_of_model("OutputParserException", "no JSON") == "interpretation"
    assert origin_of_rest("GraphRecursionError", "Recursion limit of 25 reached") == "reasoning"
    assert origin_of_rest("KeyError", "'total'") == "interpretation"


def span(
    number: int, above: int, operation: str, at: tuple[int, int], error: str = "", **more: object
) -> Span:
    attributes = {"gen_ai.operation.name": operation} if operation else {}
    return Span(
        trace_id="a" * 32,
        span_id=f"{number:016x}",
        parent_span_id=f"{above:016x}" if above else "",
        name=operation or "GET",
        kind=1,
        flags=0,
        started_at=at[0],
        ended_at=at[1],
        status="error" if error else "ok",
        status_message="",
        scope="test",
        scope_version="",
        attributes={**attributes, **{key.replace("__", "."): value for key, value in more.items()}},
        resource={},
        events=[Event(name="exception", time_ns=at[1], attributes={"exception.type": error})]
        if error
        else [],
    )


def tool(number: int, at: int, error: str = "", above: int = 1, **more: object) -> Span:
    called = {
        "gen_ai__tool__name": "search",
        "gen_ai__tool__call__arguments": json.dumps({"q": "a"}),
        "gen_ai__agent__name": "orla",
        **more,
    }
    return span(number, above, "execute_tool", (at, at + 5), error, **called)


def run_of(*spans: Span) -> InterpretedRun:
    return read_run("r", spans)


def told(found: Failure) -> tuple[int | None, str | None, bool]:
    return found.step, found.error_type, found.handled


def test_an_error_that_climbs_is_one_where_it_began() -> None:
    run = run_of(
        span(1, 0, "invoke_agent", (1, 100), "Boom"),
        span(2, 1, "invoke_agent", (2, 90), "Boom"),
        tool(3, 10, "Boom", above=2),
    )
    assert [told(each) for each in run.failures] == [(1, "Boom", False)]


def test_an_agent_that_went_on_may_fail_by_itself_later() -> None:
    run = run_of(span(1, 0, "invoke_agent", (1, 100), "MaxTurnsExceeded"), tool(2, 10, "Locked"), tool(3, 20))
    assert [told(each) for each in run.failures] == [(1, "Locked", True), (None, "MaxTurnsExceeded", False)]
    assert [each.origin for each in run.failures] == ["tool_response", "reasoning"]
    assert [each.error_class for each in run.failures] == ["transient", "architectural"]


def test_an_error_that_stops_below_the_agent_is_not_a_second_one() -> None:
    wrapper = span(2, 1, "plan", (5, 18), "Wrapped")
    run = run_of(span(1, 0, "invoke_agent", (1, 100)), wrapper, tool(3, 10, "Boom", above=2), tool(4, 20))
    assert [told(each) for each in run.failures] == [(1, "Boom", True)]
    never_ended = span(3, 2, "execute_tool", (10, 0), "Boom", gen_ai__tool__name="search")
    run = run_of(span(1, 0, "invoke_agent", (1, 100)), wrapper, never_ended, tool(4, 20))
    assert [told(each) for each in run.failures] == [(1, "Boom", True)]


def test_an_interruption_is_not_a_failure() -> None:
    run = run_of(span(1, 0, "invoke_agent", (1, 100), "Stopped"), tool(2, 10, "GraphInterrupt"))
    assert run.failures == []
    assert run.incomplete_because == "interrupted"


def test_a_request_that_failed_counts_only_when_its_error_climbed() -> None:
    quiet = run_of(span(1, 0, "invoke_agent", (1, 100)), span(2, 1, "", (5, 9), "HTTPError"), tool(3, 20))
    assert quiet.failures == []
    loud = run_of(
        span(1, 0, "invoke_agent", (1, 100), "Boom"), span(2, 1, "", (5, 9), "HTTPError"), tool(3, 2)
    )
    assert [told(each) for each in loud.failures] == [(None, "HTTPError", False)]
    inside = run_of(
        span(1, 0, "invoke_agent", (1, 100)), tool(2, 10, "Boom"), span(3, 2, "", (11, 12), "HTTPError")
    )
    assert [told(each) for each in inside.failures] == [(1, "Boom", False)]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ('{"error": "no such order"}', "no such order"),
        ('{"error": {"code": 7}}', '{"code":7}'),
        ('{"isError": true, "content": "gone"}', "gone"),
        ('{"error": null}', None),
        ('{"error": "late", "order": 1}', None),
        ('"error"', None),
    ],
    ids=["text", "object", "mcp", "null", "beside others", "only a word"],
)
def test_an_error_that_a_tool_returned_is_one(result: str, message: str | None) -> None:
    returned = tool(2, 10, gen_ai__tool__call__result=result)
    run = run_of(span(1, 0, "invoke_agent", (1, 100)), returned, tool(3, 20))
    assert [(call.status, call.error_message) for call in run.calls.tools] == [
        ("error" if message else "ok", message),
        ("ok", None),
    ]
    assert [each.error_message for each in run.failures] == ([message] if message else [])
    assert [(each.origin, each.handled) for each in run.failures] == [("tool_response", True)] * bool(message)


def test_what_the_program_says_of_its_error_holds() -> None:
    stated = tool(
        2,
        10,
        "ReadTimeout",
        retrospan__error__origin="interpretation",
        retrospan__error__class="systematic",
    )
    run = run_of(span(1, 0, "invoke_agent", (1, 100)), stated)
    assert [(each.origin, each.error_class) for each in run.failures] == [("interpretation", "systematic")]
    wrong = run_of(
        span(1, 0, "invoke_agent", (1, 100)), tool(2, 10, "ReadTimeout", retrospan__error__class="worse")
    )
    assert [(each.origin, each.error_class) for each in wrong.failures] == [("tool_response", "transient")]


def attempts(run: InterpretedRun) -> list[tuple[int, int, int | None, int | None]]:
    return [(each.step.number, each.number, each.of_step, each.backoff_ms) for each in run.attempts]


def test_equal_calls_after_a_failure_are_tries_of_one_thing() -> None:
    agent = span(1, 0, "invoke_agent", (1, 100))
    run = run_of(agent, tool(2, 10, "Odd"), tool(3, 20, "Odd"), tool(4, 30), tool(5, 40))
    assert attempts(run) == [(1, 1, 1, None), (2, 2, 1, None), (3, 3, 1, None)]
    # It went well in the end: to try again was right.
    assert [each.error_class for each in run.failures] == ["transient", "transient"]
    failing = run_of(agent, tool(2, 10, "Odd"), tool(3, 20, "Odd"))
    assert [each.error_class for each in failing.failures] == ["systematic", "systematic"]


def test_other_arguments_and_what_succeeded_are_not_retries() -> None:
    agent = span(1, 0, "invoke_agent", (1, 100))
    other = tool(3, 20, gen_ai__tool__call__arguments='{"q": "b"}')
    assert attempts(run_of(agent, tool(2, 10, "Odd"), other)) == []
    assert attempts(run_of(agent, tool(2, 10), tool(3, 20))) == []


def test_the_program_counts_its_tries_itself() -> None:
    agent = span(1, 0, "invoke_agent", (1, 100))
    second = tool(3, 20, retrospan__attempt=2, retrospan__attempt__backoff_ms=250)
    assert attempts(run_of(agent, tool(2, 10, retrospan__attempt=1), second)) == [
        (1, 1, 1, None),
        (2, 2, 1, 250),
    ]
    assert attempts(run_of(agent, second)) == [(1, 2, None, 250)]


@pytest.mark.parametrize(
    "name", [name for name in sorted(manifest()) if name.endswith(("/tool_error", "/llm_error"))]
)
def test_every_framework_tells_the_same_story_of_an_error(name: str) -> None:
    (rows,) = rows_of_recording(load_recording(name))
    (failure,) = rows.failures
    if name.endswith("/llm_error"):
        assert (failure.origin, failure.error_class, failure.handled) == ("reasoning", "architectural", False)
        assert rows.attempts == []
    else:
        assert (failure.origin, failure.error_class, failure.handled) == ("tool_response", "transient", True)
        assert [(try_.tool_name, try_.attempt, try_.status) for try_ in rows.attempts] == [
            ("update_record", 1, "error"),
            ("update_record", 2, "ok"),
        ]
        assert {try_.of_step for try_ in rows.attempts} == {failure.step}


def test_recordings_without_an_error_have_none(recording: Recording) -> None:
    if recording.name.endswith(("/tool_error", "/llm_error")):
        pytest.skip("an error was recorded")
    for rows in rows_of_recording(recording):
        assert (rows.failures, rows.attempts) == ([], [])
