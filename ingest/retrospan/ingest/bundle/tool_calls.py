"""Tool calls of a bundle, and which of them can be answered from the record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast, get_args

from retrospan.ingest.bundle.model_calls import error_of
from retrospan.ingest.bundle.rows import BundleRows, Row, Switch, ended_at, json_of
from retrospan.ingest.row_values import text_of, whole
from retrospan.schemas.bundle.form import CallError, Effect, Json, ToolCall

#: Whether a call of that status was executed; None: it may have been.
_EXECUTED: Mapping[str, bool] = {"ok": True, "error": True, "not_executed": False}

#: Google ADK's own span around the calls of one answer, beside the spans of the calls.
_NO_CALLS = ("(merged tools)",)


def tool_calls_of(
    rows: BundleRows, switch: Switch, numbers: Mapping[tuple[str, int | None], int]
) -> list[ToolCall]:
    """Return the tool calls. `numbers` has the place of each call among all, by kind and ordinal."""
    return [
        _call(
            row,
            switch,
            numbers["tool", whole(row, "ordinal")],
            numbers.get(("model", whole(row, "asked_by"))),
        )
        for row in rows.tool_calls
        if row["tool_name"] not in _NO_CALLS
    ]


def _call(row: Row, switch: Switch, n: int, asked_by: int | None) -> ToolCall:
    effect = text_of(row, "effect")
    error = error_of(row)
    reason = _reason(row, error, switch)
    return ToolCall(
        n=n,
        step=whole(row, "step"),
        span_id=text_of(row, "span_id"),
        started_at=whole(row, "started_ns"),
        ended_at=ended_at(row),
        agent_name=text_of(row, "agent_name"),
        name=str(row["tool_name"]),
        call_id=text_of(row, "tool_call_id"),
        has_arguments=row["arguments"] is not None,
        arguments=json_of(row, "arguments"),
        has_result=row["result"] is not None,
        result=_result(text_of(row, "result")),
        error=error,
        effect=cast(Effect, effect) if effect in get_args(Effect) else "unknown",
        executed=_EXECUTED.get(str(row["status"])),
        idempotency_key=text_of(row, "idempotency_key"),
        asked_by=asked_by,
        replayable=not reason,
        reason=reason,
    )


def _result(text: str | None) -> Json:
    """Return what a tool returned: a value if it was JSON, else the text."""
    if text is None:
        return None
    try:
        return cast(Json, json.loads(text, parse_constant=_refuse))
    except (ValueError, RecursionError):
        return text


def _refuse(constant: str) -> Json:
    raise ValueError(f"{constant} is not JSON")


def _reason(row: Row, error: CallError | None, switch: Switch) -> str:
    """Return why the call cannot be answered from the record, '' if it can. A call that never ran needs no answer."""
    status = str(row["status"])
    if not row["tool_name"] and status != "not_executed":
        return "which tool was called is not on record"
    if status == "not_executed" or error is not None or row["result"] is not None:
        return ""
    if status == "unknown" or (status == "incomplete" and row["span_id"] is None):
        return "whether it was executed is not on record"
    if status == "incomplete":
        return "it has begun, and that it ended is not on record"
    return f"what it returned is not on record. To record it: {switch('results')}"
