"""What cannot be replayed is told with the reason, the place and the switch; what can be is not called so."""

from __future__ import annotations

import pytest

from retrospan.ingest.bundle.check import check_of, places
from retrospan.ingest.bundle.record import record_of
from retrospan.ingest.bundle.rows import BundleRows, Row
from retrospan.schemas.bundle.form import ModelCall, ToolCall

SWITCHES = {"messages": "CAPTURE=true", "results": "RESULTS=true"}
RUN: Row = {
    "run_id": "r1",
    "service_name": None,
    "service_version": None,
    "agent_name": "orla",
    "agent_version": None,
    "conversation_id": None,
    "run_kind": "production",
    "started_ns": 1,
    "ended_ns": 9,
    "outcome": "ok",
    "incomplete_because": None,
    "parent_run_id": None,
    "parent_link": None,
    "fork_step": None,
    "patch": None,
    "input": "What?",
    "output": "That.",
    "dialects": ["genai"],
}
ASKED = '[{"role":"user","parts":[{"type":"text","content":"What?"}]}]'
ANSWERED = '[{"role":"assistant","parts":[{"type":"text","content":"That."}],"finish_reason":"stop"}]'
EMPTY = '[{"role":"assistant","parts":[]}]'


def model_row(ordinal: int = 1, step: int = 1, **changed: object) -> Row:
    return {
        "ordinal": ordinal,
        "step": step,
        "span_id": f"s{ordinal}",
        "started_ns": 1_000,
        "duration_ms": 2.5,
        "agent_name": "orla",
        "provider": "openai",
        "request_model": "gpt-5",
        "response_model": "gpt-5",
        "parameters": '{"temperature":0.2,"stream":true}',
        "system_instructions": None,
        "input_messages": ASKED,
        "output_messages": ANSWERED,
        "tool_definitions": None,
        "finish_reasons": ["stop"],
        "input_tokens": 10,
        "output_tokens": 5,
        "cached_tokens": None,
        "cache_write_tokens": None,
        "reasoning_tokens": None,
        "time_to_first_chunk_ms": None,
        "status": "ok",
        "error_type": None,
        "error_message": None,
        **changed,
    }


def tool_row(ordinal: int = 1, **changed: object) -> Row:
    return {
        "ordinal": ordinal,
        "step": 2,
        "span_id": f"t{ordinal}",
        "started_ns": 5_000,
        "duration_ms": 1,
        "agent_name": "orla",
        "tool_name": "search",
        "tool_call_id": "c1",
        "arguments": '{"q":"x"}',
        "result": "not JSON",
        "effect": None,
        "idempotency_key": None,
        "asked_by": 1,
        "status": "ok",
        "error_type": None,
        "error_message": None,
        **changed,
    }


def model_call(**changed: object) -> ModelCall:
    (call,) = record_of(
        BundleRows(run=RUN, model_calls=[{**model_row(), **changed}]), SWITCHES.__getitem__
    ).model_calls()
    return call


def tool_call(**changed: object) -> ToolCall:
    (call,) = record_of(
        BundleRows(run=RUN, tool_calls=[{**tool_row(), **changed}]), SWITCHES.__getitem__
    ).tool_calls()
    return call


def test_a_whole_model_call_can_be_answered() -> None:
    call = model_call()
    assert (call.replayable, call.reason) == (True, "")
    assert (call.system, call.tools, call.streamed) == ((), None, True)
    assert (call.started_at, call.ended_at) == (1_000, 2_501_000)
    assert call.usage == {"input_tokens": 10, "output_tokens": 5}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"input_messages": None}, "what it was asked is not on record. To record it: CAPTURE=true"),
        ({"input_messages": "[]"}, "what it was asked is not on record. To record it: CAPTURE=true"),
        ({"output_messages": None}, "what it answered is not on record. To record it: CAPTURE=true"),
        ({"output_messages": EMPTY}, "what it answered is not on record. To record it: CAPTURE=true"),
        (
            {"input_messages": None, "output_messages": None},
            "what it was asked and what it answered are not on record. To record it: CAPTURE=true",
        ),
        (
            {"output_messages": None, "status": "incomplete"},
            "it has begun, and that it ended is not on record",
        ),
        # Against what the view says: still no false answer.
        ({"input_messages": "{cut"}, "what it was asked is not on record. To record it: CAPTURE=true"),
        ({"input_messages": '["text"]'}, "what it was asked is not on record. To record it: CAPTURE=true"),
    ],
)
def test_a_model_call_without_content_says_so_with_its_switch(
    changed: dict[str, object], reason: str
) -> None:
    call = model_call(**changed)
    assert (call.replayable, call.reason) == (False, reason)


def test_a_call_that_only_its_result_tells_of_is_missing_where_it_was_asked_for() -> None:
    rows = [tool_row(tool_name="", arguments=None, span_id=None, step=None), tool_row(2, asked_by=2)]
    run = record_of(
        BundleRows(run=RUN, model_calls=[model_row(), model_row(2, 3)], tool_calls=rows), SWITCHES.__getitem__
    )
    said = [(call.replayable, call.reason) for call in run.calls]
    assert said[0] == (False, "it asked for a call of a tool whose name and arguments are not on record")
    assert said[1] == (False, "which tool was called is not on record")
    assert said[2:] == [(True, ""), (True, "")]


def test_an_empty_answer_of_no_token_is_an_answer() -> None:
    assert model_call(output_messages=EMPTY, output_tokens=0).replayable


def test_without_messages_the_system_prompt_is_unknown_and_with_them_it_is_none() -> None:
    assert model_call(input_messages=None).system is None
    assert model_call().system == ()


def test_a_content_that_could_not_be_read_is_named_instead_of_a_switch() -> None:
    problem = {"span_id": "s1", "field": "gen_ai.output.messages", "reason": "not JSON: cut at 8192"}
    rows = BundleRows(run=RUN, model_calls=[model_row(output_messages=None)], problems=[problem])
    (call,) = record_of(rows, SWITCHES.__getitem__).model_calls()
    assert call.reason == (
        "what it answered is not on record: gen_ai.output.messages could not be read (not JSON: cut at 8192)"
    )


@pytest.mark.parametrize(
    ("kind", "message", "code"),
    [
        ("openai.RateLimitError", "Error code: 429 - {'error': {}}", 429),
        ("openai.BadRequestError", "too long", 400),
        ("503", None, 503),
        ("APITimeoutError", "Request timed out.", None),
        ("RateLimitError", "HTTP/1.1 500 oops", 429),
        ("X", "status_code=502", 502),
        ("X", "asked for 450 documents", None),
    ],
)
def test_an_error_is_an_answer_with_its_status(kind: str, message: str | None, code: int | None) -> None:
    call = model_call(output_messages=None, status="error", error_type=kind, error_message=message)
    assert call.replayable and call.error is not None
    assert (call.error.type, call.error.message, call.error.status_code) == (kind, message, code)


@pytest.mark.parametrize(
    ("changed", "reason", "executed"),
    [
        ({}, "", True),
        ({"result": None}, "what it returned is not on record. To record it: RESULTS=true", True),
        ({"result": None, "status": "error", "error_type": "E"}, "", True),
        ({"result": None, "status": "not_executed"}, "", False),
        ({"result": None, "status": "incomplete"}, "it has begun, and that it ended is not on record", None),
        ({"result": None, "status": "unknown"}, "whether it was executed is not on record", None),
    ],
)
def test_tool_calls(changed: dict[str, object], reason: str, executed: bool | None) -> None:
    call = tool_call(**changed)
    assert (call.reason, call.replayable, call.executed) == (reason, not reason, executed)


def test_results_are_values_where_they_were_json() -> None:
    assert tool_call().result == "not JSON"
    assert tool_call(result='{"a":[1]}').result == {"a": [1]}
    null = tool_call(result="null")
    assert (null.has_result, null.result) == (True, None)
    assert tool_call(result="NaN").result == "NaN"
    unknown = tool_call(arguments=None, effect="odd", asked_by=None)
    assert (unknown.has_arguments, unknown.effect, unknown.asked_by) == (False, "unknown", None)


def test_calls_are_numbered_in_the_order_of_their_steps() -> None:
    rows = BundleRows(
        run=RUN,
        model_calls=[model_row(1, 1), model_row(2, 4)],
        tool_calls=[
            tool_row(1, step=2),
            tool_row(2, step=3),
            tool_row(3, step=None, span_id=None, started_ns=None, duration_ms=None, asked_by=1),
        ],
    )
    run = record_of(rows, SWITCHES.__getitem__)
    found = [(call.n, "model" if isinstance(call, ModelCall) else call.span_id) for call in run.calls]
    assert found == [(1, "model"), (2, None), (3, "t1"), (4, "t2"), (5, "model")]
    assert {call.asked_by for call in run.tool_calls()} == {1}
    assert all(call.key for call in run.calls)


def test_messages_that_many_calls_read_are_kept_once() -> None:
    run = record_of(BundleRows(run=RUN, model_calls=[model_row(1), model_row(2, 2)]), SWITCHES.__getitem__)
    first, second = run.model_calls()
    assert first.messages is not None and second.messages is not None
    assert first.messages[0] is second.messages[0]


def test_a_check_counts_and_names_the_calls_by_reason() -> None:
    calls = [model_row(n, n) for n in range(1, 15)]
    calls += [model_row(n, n, input_messages=None, output_messages=None) for n in (15, 16)]
    tools = [tool_row(1, step=None, status="not_executed", result=None)]
    check = check_of(
        record_of(BundleRows(run=RUN, model_calls=calls, tool_calls=tools), SWITCHES.__getitem__)
    )
    assert check.said() == "14 of 16 calls"
    (gap,) = check.gaps
    assert places(gap.calls) == "2 model calls (steps 15, 16)"
    assert gap.reason.endswith("To record it: CAPTURE=true")
    assert check.not_compared == (("tools", 14),)


def test_a_run_without_calls_and_one_that_has_not_ended_say_so() -> None:
    check = check_of(record_of(BundleRows(run={**RUN, "outcome": "running"}), SWITCHES.__getitem__))
    assert check.said() == "it has no calls: there is nothing to replay"
    assert check.is_open
