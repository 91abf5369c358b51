"""What instrumentations make of calls, errors and reasons: each is given back as it was before that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import pytest
from replay.recorded import QUESTION, SYSTEM, model_call, text, tool_call

from retrospan.exporter.replay import replay
from retrospan.exporter.replay.answers import from_gemini, outcome_of
from retrospan.exporter.replay.tools.given import RecordedError, error_of, value_of
from retrospan.exporter.replay.wire.form import Answer, Asked, Choice, finish_of
from retrospan.schemas.bundle.canonical import with_keys
from retrospan.schemas.bundle.form import Bundle, CallError, RunRecord


class ShelfLocked(Exception):
    """Of the program: found by its name."""


def test_calls_of_several_runs_are_counted_although_they_have_the_same_numbers() -> None:
    runs = tuple(
        RunRecord(
            run_id=f"run-{n}",
            started_at=n,
            calls=with_keys([model_call(1, [text("user", f"{n}?")], text("assistant", "Yes."))]),
        )
        for n in (1, 2, 3)
    )
    with replay(Bundle(made_by="a test", rules=None, runs=runs)) as r:
        for n in (1, 2, 3):
            asked = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": f"{n}?"}]
            body = {"model": "gpt-4o-mini", "messages": asked}
            assert httpx.post("http://model.invalid/v1/chat/completions", json=body).status_code == 200
    assert r.report.lines()[0].startswith("identical: 3 of 3 model calls")


@pytest.mark.parametrize(
    ("result", "error", "gives"),
    [
        ({"result": [1]}, None, [1]),
        ({"a": 1}, None, {"a": 1}),
        # ADK's callback made a result of the error, and what the error's class was is not on record.
        (
            {"error": "it is locked"},
            CallError(type="TOOL_ERROR", message="TOOL_ERROR"),
            {"error": "it is locked"},
        ),
    ],
)
def test_what_gemini_was_told_is_what_the_function_gave(
    result: Any, error: CallError | None, gives: Any
) -> None:
    call = replace(tool_call(1, "f", {}, result), error=error)
    assert value_of(from_gemini(call)) == gives


def test_an_error_that_geminis_client_told_is_raised_again() -> None:
    told = "Failed to invoke function f with converted arguments {} because of error it is locked"
    with pytest.raises(RecordedError, match=r"^it is locked$"):
        value_of(from_gemini(tool_call(1, "f", {}, {"error": told})))


@pytest.mark.parametrize(
    "message",
    [
        "ShelfLocked('C-1 is locked')\n\nTraceback (most recent call last):\n…",
        'ShelfLocked("C-1 is locked")',
        "ShelfLocked('C-1 is locked',)",
    ],
)
def test_an_error_that_was_printed_for_programmers_is_raised_as_itself(message: str) -> None:
    for kind in ("Exception", None):
        found = error_of(CallError(type=kind, message=message))
        assert isinstance(found, ShelfLocked) and str(found) == "C-1 is locked"


@pytest.mark.parametrize(
    "message", ["NoSuchClass('x')", "ShelfLocked(", "ShelfLocked('x') + 1", "os.system('x')", "(" * 9999]
)
def test_what_only_looks_like_one_is_a_message(message: str) -> None:
    found = error_of(CallError(type="Exception", message=message))
    assert not isinstance(found, ShelfLocked) or message == "ShelfLocked('x') + 1"
    assert str(found) in (message, "x")


def test_a_reason_may_be_a_member_of_an_enumeration() -> None:
    reasons = {"tool_use": "tool_calls"}
    for said in ("FinishReason.TOOL_CALLS", "tool_calls", "FinishReason.TOOL_USE"):
        assert finish_of(Choice((), said), reasons, "tool_calls", "stop") == "tool_calls"
    assert finish_of(Choice((), "Vendor_Reason"), reasons, "tool_calls", "stop") == "Vendor_Reason"


@pytest.mark.parametrize(("form", "has_ids"), [("openai chat", True), ("gemini", False)])
def test_calls_get_ids_where_the_form_wants_them(form: str, has_ids: bool) -> None:
    said = {"role": "assistant", "parts": [{"type": "tool_call", "id": None, "name": "f", "arguments": {}}]}
    found = outcome_of(
        model_call(1, [text("user", QUESTION)], said), Asked(form, "m", False, [], [], None, {})
    )
    assert isinstance(found, Answer)
    assert bool(found.choices[0].parts[0]["id"]) == has_ids
