"""What the views say of a recording, from the interpreter's rows alone: no collector, no warehouse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recordings.record.facts import Views
from spans import Reader, read_runs

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.run import read_spans
from retrospan.ingest.interpret.spans.span import Span

Row = dict[str, Any]


def views_of_spans(spans: Sequence[Span], read: Reader = read_spans) -> Views:
    """Interpret spans, and return the rows of their runs as `runs`, `model_calls` and `tool_calls` would."""
    return views_of_rows([rows_of(run, "default", 1, None) for run in read_runs(spans, read=read)])


def views_of_rows(found: Sequence[Rows]) -> Views:
    """Return rows of runs as `runs`, `model_calls` and `tool_calls` would."""
    runs = sorted(found, key=lambda rows: (rows.runs[0].started_at, rows.runs[0].run_id))
    return Views(
        runs=[_run(rows) for rows in runs],
        model_calls=[row for rows in runs for row in _model_calls(rows)],
        tool_calls=[row for rows in runs for row in _tool_calls(rows)],
    )


def _run(rows: Rows) -> Row:
    (run,) = rows.runs
    return {
        "run_id": run.run_id,
        "agent_name": run.agent_name,
        "input": run.input,
        "output": run.output,
        "outcome": run.outcome,
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
    }


def _model_calls(rows: Rows) -> list[Row]:
    texts: dict[int, str] = {}
    for value in rows.values:
        inner = [texts[number] for number in value.elements]
        texts[value.number] = value.json if value.kind != "list" else f"[{','.join(inner)}]"

    def listed(numbers: Sequence[int]) -> str:
        return f"[{','.join(texts[number] for number in numbers)}]"

    return [
        {
            "run_id": call.run_id,
            "ordinal": call.ordinal,
            "agent_name": call.agent_name,
            "request_model": call.request_model,
            "response_model": call.response_model,
            "status": call.status,
            "system_instructions": texts[call.system_value] if call.system_value else None,
            "input_messages": listed(call.input_values)
            if call.input_values or call.history != "none"
            else None,
            "output_messages": listed(call.output_values) if call.output_values else None,
        }
        for call in rows.model_calls
    ]


def _tool_calls(rows: Rows) -> list[Row]:
    return [
        {
            "run_id": call.run_id,
            "ordinal": call.ordinal,
            "tool_name": call.tool_name,
            "tool_call_id": call.tool_call_id,
            "arguments": call.arguments,
            "result": call.result,
            "status": call.status,
        }
        for call in rows.tool_calls
    ]
