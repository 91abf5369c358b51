"""What a recorded model call gives when it is made again: an answer, an error, or a broken connection. Pure."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple, cast

from retrospan.exporter.replay.wire.form import JSON, Answer, Asked, Choice, Cut, Refusal
from retrospan.schemas.bundle.form import CallError, Json, ModelCall, ToolCall
from retrospan.schemas.bundle.statuses import status_of

_TIMEOUT = re.compile(r"timeout|timed ?out", re.IGNORECASE)
_CONNECTION = re.compile(r"connect|disconnected|remoteprotocol|reseterror", re.IGNORECASE)
#: What Gemini's client puts before the error of a function.
_GEMINI_ERROR = " because of error "
#: Longer bodies of errors are not looked for: a client prints no such.
_LONGEST_BODY = 65536


class Broken(NamedTuple):
    """No answer came: the client waited too long, or lost the connection."""

    kind: Literal["timeout", "connection"]
    message: str


class CutOff(NamedTuple):
    """A stream that broke off: what of the answer had come, and how it ended."""

    answer: Answer
    cut: Cut


class Unknown(NamedTuple):
    """What was answered is not on record; `reason` says why."""

    reason: str


def outcome_of(call: ModelCall, asked: Asked) -> Answer | CutOff | Refusal | Broken | Unknown:
    """Return what the call came to."""
    if call.error is not None and not call.answer:
        return _failure(call.error)
    if not call.replayable or not call.answer:
        return Unknown(call.reason or "the record holds no answer")
    answer = Answer(
        id=call.response_id or f"replayed-{call.span_id or call.n}",
        model=call.response_model or call.model or asked.model or "",
        created=(call.ended_at or call.started_at or 0) // 1_000_000_000,
        choices=_choices(call, asked.choices, with_ids=asked.form != "gemini"),
        usage=_usage(call.usage),
    )
    cut = _cut(call) if asked.streamed else None
    return answer if cut is None else CutOff(answer, cut)


def _cut(call: ModelCall) -> Cut | None:
    """Return how the answer broke off; one with a reason why it ended came to its end, whatever failed before or after."""
    if (
        call.error is None
        or call.finish_reasons
        or any(each.get("finish_reason") for each in call.answer or ())
    ):
        return None
    found = _failure(call.error)
    return Cut(found.kind, found.message) if isinstance(found, Broken) else None


def answer_of_text(text: str, asked: Asked, name: str) -> Answer:
    """Return a given text as an answer."""
    choice = Choice(({"type": "text", "content": text},), None)
    return Answer(name, asked.model or "", 0, (choice,), {})


def given_call(name: str, step: int | None, result: Json) -> ToolCall:
    """Return a call of a tool with a given result."""
    return ToolCall(
        n=0,
        step=step,
        span_id=None,
        started_at=None,
        ended_at=None,
        name=name,
        has_result=True,
        result=result,
    )


def _choices(call: ModelCall, wanted: int, *, with_ids: bool) -> tuple[Choice, ...]:
    """Return one choice for each that was asked for; several messages are else one answer, told in pieces."""
    messages = [cast(JSON, each) for each in call.answer or ()]
    reasons = [*call.finish_reasons]
    if wanted > 1 and len(messages) > 1:
        return tuple(
            Choice(
                _parts(each, call, place, with_ids=with_ids),
                each.get("finish_reason") or (reasons[place] if place < len(reasons) else None),
            )
            for place, each in enumerate(messages)
        )
    parts = [
        part for place, each in enumerate(messages) for part in _parts(each, call, place, with_ids=with_ids)
    ]
    said = [each["finish_reason"] for each in messages if each.get("finish_reason")]
    return (Choice(tuple(parts), (reasons or said or [None])[-1]),)


def _parts(message: JSON, call: ModelCall, place: int, *, with_ids: bool) -> tuple[JSON, ...]:
    """Return the parts of a message; a call without an id gets one where the form wants ids."""
    found: list[JSON] = []
    for number, part in enumerate(message.get("parts") or ()):
        if not isinstance(part, Mapping):
            continue
        kept: dict[str, Any] = dict(part)
        if with_ids and kept.get("type") == "tool_call" and not kept.get("id"):
            kept["id"] = f"call_{call.n}_{place}_{number}"
        found.append(kept)
    return tuple(found)


#: Our names of counts, by the names that a record may have.
_COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cached_tokens": "cache_read_tokens",
    "cache_read_tokens": "cache_read_tokens",
    "cache_write_tokens": "cache_write_tokens",
    "reasoning_tokens": "reasoning_tokens",
}


def _usage(usage: Mapping[str, int]) -> dict[str, int]:
    return {_COUNTS[name]: count for name, count in usage.items() if name in _COUNTS}


def _failure(error: CallError) -> Refusal | Broken | Unknown:
    kind, message = error.type or "", error.message or ""
    status = error.status_code or status_of(kind, message)
    if status is not None:
        return Refusal(status, kind or "error", message, _body(message))
    if _TIMEOUT.search(kind) or _TIMEOUT.search(message):
        return Broken("timeout", message or kind)
    if _CONNECTION.search(kind) or _CONNECTION.search(message):
        return Broken("connection", message or kind)
    return Unknown(
        f"it failed with {kind or 'an error'} ({message[:200] or 'no message'}), and nothing says with which HTTP status"
    )


def _body(message: str) -> JSON | None:
    """Return the body of an error that a client printed into its message, as JSON or as Python's repr of it."""
    start = message.find("{")
    if start < 0 or len(message) - start > _LONGEST_BODY:
        return None
    text = message[start:]
    try:
        found: object = json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        try:
            found = ast.literal_eval(text[: text.rfind("}") + 1])
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    try:
        json.dumps(found)
    except (TypeError, ValueError):
        return None
    return cast(JSON, found) if isinstance(found, dict) else None


def from_gemini(call: ToolCall) -> ToolCall:
    """Return a call with what the function returned or raised, where the record has what Gemini's client made of that."""
    if not isinstance(call.result, dict):
        return call
    result = cast("dict[str, Json]", call.result)
    if [*result] == ["result"]:
        return replace(call, result=result["result"])
    if [*result] == ["error"] and isinstance(told := result["error"], str):
        if call.error is not None and _GEMINI_ERROR not in told:
            # The agent made a result of the error itself, as callbacks of ADK do.
            return call
        message = told.rpartition(_GEMINI_ERROR)[2]
        return replace(call, has_result=False, result=None, error=CallError(message=message))
    return call
