"""Model calls of a bundle, and which of them can be answered from the record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from retrospan.ingest.bundle.rows import BundleRows, Row, Switch, ended_at, json_of
from retrospan.ingest.row_values import text_of, texts_of, whole
from retrospan.schemas.bundle.form import CallError, Json, Message, ModelCall
from retrospan.schemas.bundle.statuses import status_in, status_of

#: Columns of the view by what a bundle calls them.
_USAGE = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cached_tokens": "cached_tokens",
    "cache_write_tokens": "cache_write_tokens",
    "reasoning_tokens": "reasoning_tokens",
}
_STREAM = ("request_stream", "is_streaming", "llm_is_streaming")


def model_calls_of(rows: BundleRows, switch: Switch, numbers: Mapping[int | None, int]) -> list[ModelCall]:
    """Return the model calls with the numbers that they have among all calls."""
    spans = {str(row["span_id"]): row for row in rows.spans}
    problems = dict[str, list[Row]]()
    for row in rows.problems:
        problems.setdefault(str(row["span_id"]), []).append(row)
    # Histories repeat messages: each is one object, however often it is read.
    pool = dict[str, Message]()
    # A call that only its result tells of is missing in the answer that asked for it.
    nameless = {whole(row, "asked_by") for row in rows.tool_calls if not row["tool_name"]}
    found = list[ModelCall]()
    for row in rows.model_calls:
        span_id = str(row["span_id"])
        messages, answer = _messages(row, "input_messages", pool), _messages(row, "output_messages", pool)
        error = error_of(row)
        reason = _reason(row, messages, answer, error, problems.get(span_id, ()), switch)
        if not reason and whole(row, "ordinal") in nameless:
            reason = "it asked for a call of a tool whose name and arguments are not on record"
        found.append(
            _call(row, spans.get(span_id), numbers[whole(row, "ordinal")], messages, answer, error, reason)
        )
    return found


def _call(
    row: Row,
    span: Row | None,
    n: int,
    messages: tuple[Message, ...] | None,
    answer: tuple[Message, ...] | None,
    error: CallError | None,
    reason: str,
) -> ModelCall:
    parameters, tools = json_of(row, "parameters"), json_of(row, "tool_definitions")
    if error is not None and error.status_code is None and span is not None:
        error = CallError(type=error.type, message=error.message, status_code=_sent_code(span))
    return ModelCall(
        n=n,
        step=whole(row, "step"),
        span_id=text_of(row, "span_id"),
        started_at=whole(row, "started_ns"),
        ended_at=ended_at(row),
        agent_name=text_of(row, "agent_name"),
        provider=text_of(row, "provider"),
        operation=None if span is None else text_of(span, "operation_name") or None,
        model=text_of(row, "request_model"),
        response_model=text_of(row, "response_model"),
        parameters=dict(parameters) if isinstance(parameters, Mapping) else None,
        system=_system(row, messages),
        messages=messages,
        tools=tuple(cast("list[Json]", tools)) if isinstance(tools, list) else None,
        answer=answer,
        response_id=None if span is None else text_of(span, "response_id") or None,
        finish_reasons=tuple(texts_of(row, "finish_reasons")),
        usage={name: tokens for column, name in _USAGE.items() if (tokens := whole(row, column)) is not None},
        streamed=_streamed(row, span, parameters),
        tells_rounds=True if span is not None and span["tells_rounds"] else None,
        error=error,
        replayable=not reason,
        reason=reason,
    )


def _messages(row: Row, name: str, pool: dict[str, Message]) -> tuple[Message, ...] | None:
    value = json_of(row, name)
    if not isinstance(value, list):
        return None
    found = list[Message]()
    for each in cast("list[Json]", value):
        if (
            isinstance(each, Mapping)
            and isinstance(each.get("role"), str)
            and isinstance(each.get("parts"), list)
        ):
            message = cast(Message, each)
            found.append(pool.setdefault(repr(message), message))
    return tuple(found)


def _system(row: Row, messages: Sequence[Message] | None) -> tuple[Message, ...] | None:
    """Return the system instructions as messages: none where the messages are known and these are not there."""
    parts = json_of(row, "system_instructions")
    if isinstance(parts, list) and parts:
        return ({"role": "system", "parts": parts},)
    return None if messages is None else ()


def _streamed(row: Row, span: Row | None, parameters: Json) -> bool | None:
    if row["time_to_first_chunk_ms"] is not None:
        return True
    said = [str(span[name]).lower() for name in _STREAM if span[name]] if span is not None else []
    if isinstance(parameters, Mapping) and isinstance(parameters.get("stream"), bool):
        said.append(str(parameters["stream"]).lower())
    return "true" in said if said else None


def error_of(row: Row) -> CallError | None:
    """Return how a call failed, None if it did not, as far as is known."""
    kind, message = text_of(row, "error_type"), text_of(row, "error_message")
    if row["status"] != "error" and kind is None:
        return None
    return CallError(type=kind, message=message, status_code=status_of(kind, message))


def _sent_code(span: Row) -> int | None:
    return status_in(str(span["status_code"] or span["older_status_code"]))


def _reason(
    row: Row,
    messages: Sequence[Message] | None,
    answer: Sequence[Message] | None,
    error: CallError | None,
    problems: Sequence[Row],
    switch: Switch,
) -> str:
    """Return why the call cannot be answered from the record, '' if it can."""
    if row["status"] == "incomplete" and error is None:
        return "it has begun, and that it ended is not on record"
    missing = list[str]()
    if not messages or not any(message["parts"] for message in messages):
        missing.append("what it was asked")
    if error is None and not _has_answer(row, answer):
        missing.append("what it answered")
    if not missing:
        return ""
    said = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not on record"
    for problem in problems:
        if "message" in str(problem["field"]) or "content" in str(problem["field"]):
            return f"{said}: {problem['field']} could not be read ({str(problem['reason']).strip()})"
    return f"{said}. To record it: {switch('messages')}"


def _has_answer(row: Row, answer: Sequence[Message] | None) -> bool:
    """Tell whether the answer is there: one of no parts is an answer only of a model that wrote no token."""
    if answer is None:
        return False
    return any(message["parts"] for message in answer) or whole(row, "output_tokens") == 0
