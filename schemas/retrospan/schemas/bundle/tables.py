"""A run of a bundle as rows of the views runs, model_calls and tool_calls: with those of their columns that a bundle
holds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from retrospan.schemas.bundle.form import CallError, Json, ModelCall, RunRecord, ToolCall

_TEXT, _NUMBER, _MAYBE = "Nullable(String)", "UInt64", "Nullable(UInt64)"
_ERROR = {"error_type": _TEXT, "error_message": _TEXT}
#: By view, its columns in the order and with the names of the warehouse, and their types.
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "runs": {
        "run_id": "String",
        "parent_run_id": _TEXT,
        "parent_link": _TEXT,
        "conversation_id": _TEXT,
        "run_kind": _TEXT,
        "agent_name": _TEXT,
        "agent_version": _TEXT,
        "service_name": _TEXT,
        "service_version": _TEXT,
        "outcome": "String",
        "input": _TEXT,
        "output": _TEXT,
        "model_calls": _NUMBER,
        "tool_calls": _NUMBER,
        "fork_step": _MAYBE,
    },
    "model_calls": {
        "run_id": "String",
        "ordinal": _NUMBER,
        "step": _MAYBE,
        "agent_name": _TEXT,
        "provider": _TEXT,
        "request_model": _TEXT,
        "response_model": _TEXT,
        "parameters": "String",
        "input_messages": _TEXT,
        "output_messages": _TEXT,
        "tool_definitions": _TEXT,
        "finish_reasons": "Array(String)",
        "input_tokens": _MAYBE,
        "output_tokens": _MAYBE,
        "status": "String",
        **_ERROR,
    },
    "tool_calls": {
        "run_id": "String",
        "ordinal": _NUMBER,
        "step": _MAYBE,
        "asked_by": _MAYBE,
        "agent_name": _TEXT,
        "tool_name": "String",
        "tool_call_id": _TEXT,
        "arguments": _TEXT,
        "result": _TEXT,
        "effect": _TEXT,
        "idempotency_key": _TEXT,
        "status": "String",
        **_ERROR,
    },
}


def rows_of(run: RunRecord) -> dict[str, list[dict[str, Json]]]:
    """Return the rows of each view."""
    models, tools = run.model_calls(), run.tool_calls()
    ordinals = {call.n: place for place, call in enumerate(models, 1)}
    return {
        "runs": [
            {
                **{name: getattr(run, name, None) for name in COLUMNS["runs"]},
                "run_kind": run.kind,
                "outcome": run.outcome or "",
                "input": run.question,
                "output": run.answer,
                "model_calls": len(models),
                "tool_calls": len(tools),
            }
        ],
        "model_calls": [
            {
                **_common(run, call, place),
                "provider": call.provider,
                "request_model": call.model,
                "response_model": call.response_model,
                "parameters": _json(dict(call.parameters or {})),
                "input_messages": _json_or_none(call.messages),
                "output_messages": _json_or_none(call.answer),
                "tool_definitions": _json_or_none(call.tools),
                "finish_reasons": [*call.finish_reasons],
                "input_tokens": call.usage.get("input_tokens"),
                "output_tokens": call.usage.get("output_tokens"),
                "status": _status(call.error, call.replayable),
            }
            for place, call in enumerate(models, 1)
        ],
        "tool_calls": [
            {
                **_common(run, call, place),
                "asked_by": ordinals.get(call.asked_by or 0),
                "tool_name": call.name,
                "tool_call_id": call.call_id,
                "arguments": _json(call.arguments) if call.has_arguments else None,
                "result": _text_or_json(call.result) if call.has_result else None,
                "effect": None if call.effect == "unknown" else call.effect,
                "idempotency_key": call.idempotency_key,
                "status": "not_executed" if call.executed is False else _status(call.error, call.replayable),
            }
            for place, call in enumerate(tools, 1)
        ],
    }


def _common(run: RunRecord, call: ModelCall | ToolCall, place: int) -> dict[str, Any]:
    error = call.error or CallError()
    return {
        "run_id": run.run_id,
        "ordinal": place,
        "step": call.step,
        "agent_name": call.agent_name,
        "error_type": error.type,
        "error_message": error.message,
    }


def _status(error: CallError | None, has_ended: bool) -> str:
    return "error" if error is not None else "ok" if has_ended else "unknown"


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _json_or_none(value: object) -> str | None:
    return None if value is None else _json(value)


def _text_or_json(value: Json) -> str:
    return value if isinstance(value, str) else _json(value)
