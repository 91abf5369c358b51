"""What a recorded model call comes to when it is asked again: an answer, an error, or a broken connection. Pure."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, cast

from retrospan.exporter.replay.wire.form import JSON, Answer, Asked, Choice, Refusal
from retrospan.schemas.bundle.form import CallError, ModelCall
from retrospan.schemas.bundle.statuses import status_of

_TIMEOUT = re.compile(r"timeout|timed ?out", re.IGNORECASE)
_CONNECTION = re.compile(r"connect|disconnected|remoteprotocol|reseterror", re.IGNORECASE)
#: Longer bodies of errors are not looked for: a client prints no such.
_LONGEST_BODY = 65536


class Broken(NamedTuple):
    """No answer came: the client waited too long, or lost the connection."""

    kind: Literal["timeout", "connection"]
    message: str


class Unknown(NamedTuple):
    """What was answered is not on record; `reason` says why."""

    reason: str


def outcome_of(call: ModelCall, asked: Asked) -> Answer | Refusal | Broken | Unknown:
    """Return what the call came to."""
    if call.error is not None and not call.answer:
        return _failure(call.error)
    if not call.replayable or not call.answer:
        return Unknown(call.reason or "the record holds no answer")
    return Answer(
        id=call.response_id or f"replayed-{call.span_id or call.n}",
        model=call.response_model or call.model or asked.model or "",
        created=(call.ended_at or call.started_at or 0) // 1_000_000_000,
        choices=_choices(call, asked.choices),
        usage=_usage(call.usage),
    )


def answer_of_text(text: str, asked: Asked, name: str) -> Answer:
    """Return a given text as an answer."""
    choice = Choice(({"type": "text", "content": text},), None)
    return Answer(name, asked.model or "", 0, (choice,), {})


def _choices(call: ModelCall, wanted: int) -> tuple[Choice, ...]:
    """Return one choice for each that was asked for; several messages are else one answer, told in pieces."""
    messages = [cast(JSON, each) for each in call.answer or ()]
    reasons = [*call.finish_reasons]
    if wanted > 1 and len(messages) > 1:
        return tuple(
            Choice(
                _parts(each, call, place),
                each.get("finish_reason") or (reasons[place] if place < len(reasons) else None),
            )
            for place, each in enumerate(messages)
        )
    parts = [part for place, each in enumerate(messages) for part in _parts(each, call, place)]
    said = [each["finish_reason"] for each in messages if each.get("finish_reason")]
    return (Choice(tuple(parts), (reasons or said or [None])[-1]),)


def _parts(message: JSON, call: ModelCall, place: int) -> tuple[JSON, ...]:
    """Return the parts of a message; a call without an id gets one."""
    found: list[JSON] = []
    for number, part in enumerate(message.get("parts") or ()):
        if not isinstance(part, Mapping):
            continue
        kept: dict[str, Any] = dict(part)
        if kept.get("type") == "tool_call" and not kept.get("id"):
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
