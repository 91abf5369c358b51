"""Bodies of a model API that log records tell on the span around the calls: each goes to its call, or to none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import agent, chat, rows
from spans import rows_of_spans

from retrospan.ingest.interpret.spans.span import LogRecord, Span

SECOND, MODEL, VERSION = 10**9, "claude-x", "claude-x-20260101"


def record(event: str, at: float, body: object, **more: object) -> LogRecord:
    time = int((1_000 + at) * SECOND)
    return LogRecord(
        event=event,
        time_ns=time,
        body=event,
        attributes={"body": body if isinstance(body, str) else json.dumps(body), **more},
        order=(time, time, event),
    )


def request(at: float, text: str, number: str, **more: object) -> LogRecord:
    asked = {"model": MODEL, "messages": [{"role": "user", "content": text}]}
    return record("request_body", at, {**asked, **more}, body_id=f"body-{number}")


def response(at: float, text: str, number: str, tokens: int, model: str = VERSION) -> LogRecord:
    answer = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": text}]}
    ended = {"model": model, "stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": tokens}}
    return record("response_body", at, {**answer, **ended}, body_id=f"body-{number}")


def call(at: float, tokens: int, **more: Any) -> Span:
    return chat(
        at,
        gen_ai__request__model=MODEL,
        gen_ai__response__model=VERSION,
        gen_ai__usage__output_tokens=tokens,
        **more,
    )


def read(logs: list[LogRecord], *calls: Span) -> list[tuple[int, int]]:
    """How many messages each call was given, and how many it answered."""
    root = agent()
    root.logs = logs
    return [(len(each.input_values), len(each.output_values)) for each in rows(root, *calls).model_calls]


FIRST = [request(1.2, "Hi", "0001"), response(2.01, "Ho", "0001", 5)]
SECOND_CALL = [request(4.2, "And?", "0002"), response(5, "So.", "0002", 6)]


def test_each_call_has_its_own_request_and_answer() -> None:
    assert read([*FIRST, *SECOND_CALL], call(1, 5), call(4, 6)) == [(1, 1), (1, 1)]
    root = agent()
    root.logs = [*FIRST, *SECOND_CALL]
    (found,) = rows_of_spans([root, call(1, 5), call(4, 6)])
    assert (found.runs[0].input, found.runs[0].output) == ("Hi", "So.")


@pytest.mark.parametrize(
    ("logs", "seen"),
    [
        ([FIRST[0], response(2, "Ho", "0001", 7)], (1, 0)),
        ([FIRST[0], response(2, "Ho", "0001", 5, "other")], (1, 0)),
        ([request(1.2, "Hi", "0001", model="other"), FIRST[1]], (0, 1)),
        ([request(3, "Hi", "0003")], (0, 0)),
        ([FIRST[0], request(1.4, "Hi again", "0004")], (0, 0)),
        ([record("request_body", 1.2, '{"model":"claude-x","messages":[{"ro', body_id="body-0001")], (0, 0)),
        ([record("tool_result", 1.2, FIRST[0].attributes["body"], **{"gen_ai.tool.name": "search"})], (0, 0)),
    ],
    ids=[
        "another count",
        "another model answered",
        "another model was asked",
        "between the calls",
        "two requests",
        "cut off",
        "of a tool",
    ],
)
def test_what_does_not_fit_is_told_of_no_call(logs: list[LogRecord], seen: tuple[int, int]) -> None:
    assert read(logs, call(1, 5), call(4, 6))[0] == seen


def test_of_calls_at_one_time_none_is_meant() -> None:
    assert read([request(1.2, "Hi", "0001")], call(1, 5), call(1, 5)) == [(0, 0), (0, 0)]


def test_an_answer_whose_request_is_cut_off_goes_by_the_time_of_that() -> None:
    cut = record("request_body", 1.2, '{"model":"claude-x","mess', body_id="body-0001")
    assert read([cut, response(4.5, "Ho", "0001", 5)], call(1, 5), call(4, 6)) == [(0, 1), (0, 0)]


def test_a_failed_call_answered_nothing() -> None:
    assert read(FIRST, call(1, 5, error="Timeout")) == [(1, 0)]
