"""The steps of a run as a table: what each did, what it was given, what came back."""

from __future__ import annotations

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.rows import number_of, text_of, whole
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.screen import Style
from retrospan.ingest.cli.terminal.table import Column, last_column_width, show_table
from retrospan.ingest.cli.terminal.text import cells, count, duration, fitted, safe
from retrospan.ingest.cli.terminal.values import brief_json, call, message_text, parse
from retrospan.ingest.cli.views.remarks import Remarks, heads, said
from retrospan.ingest.cli.views.tokens import tokens

NOT_RECORDED = "⊘ not recorded"
_KINDS: dict[str, Style] = {"model": "magenta", "tool": "blue"}


def show_timeline(
    session: Session,
    steps: list[Row],
    model_calls: list[Row],
    tool_calls: list[Row],
    remarks: Remarks,
    *,
    heading: bool = True,
    is_last: bool = True,
) -> None:
    """Write one line per step; calls that were never executed stand after the call that asked for them.

    What was said besides stands between the steps; with `is_last` also what was said after them.
    """
    with_nodes = any(step["node"] for step in steps)
    columns = [
        Column("STEP", right=True, style="cyan"),
        Column("KIND", style=lambda kind: _KINDS.get(kind, "")),
        Column("NAME", limit=32),
        *([Column("NODE", priority=2, limit=24)] if with_nodes else []),
        Column("TOOK", right=True),
        Column("TOKENS", right=True, priority=1),
        Column("WHAT", text=True, style=lambda what: "red" if what.startswith("! ") else ""),
    ]
    lines: list[tuple[list[str], Row | None, Row | None, Row | None]] = []

    def remark(found: list[Row]) -> None:
        everything = session.screen.width is None
        for head, row in heads(found, with_nodes, all_of_them=everything):
            lines.append((head, None, None, row))

    models = {whole(call, "step"): call for call in model_calls}
    tools = {whole(call, "step"): call for call in tool_calls if call["step"] is not None}
    unexecuted = [call for call in tool_calls if call["step"] is None]
    for step in steps:
        number = whole(step, "step")
        remark(remarks.before(step))
        model, tool = models.get(number), tools.get(number)
        lines.append((_head(step, model, with_nodes), model, tool, None))
        asked = [call for call in unexecuted if model is not None and call["asked_by"] == model["ordinal"]]
        lines += [(_unexecuted_head(call, with_nodes), None, call, None) for call in asked]
    asked_by = {call["ordinal"] for call in model_calls}
    lines += [
        (_unexecuted_head(c, with_nodes), None, c, None) for c in unexecuted if c["asked_by"] not in asked_by
    ]
    if is_last:
        remark(remarks.before(None))
    room = last_column_width(session.screen, columns, [line[0] for line in lines])
    mark = session.screen.mark
    rows = [
        [*head, said(row, room, mark) if row is not None else what(model, tool, room, mark)]
        for head, model, tool, row in lines
    ]
    show_table(session.screen, columns, rows, heading=heading)


def _head(step: Row, model: Row | None, with_nodes: bool) -> list[str]:
    return [
        count(whole(step, "step")),
        str(step["step_kind"]),
        step_name(step, model),
        *([text_of(step, "node") or ""] if with_nodes else []),
        duration(number_of(step, "duration_ms")),
        tokens(model) if model is not None else "",
    ]


def _unexecuted_head(call: Row, with_nodes: bool) -> list[str]:
    return ["-", "tool", str(call["tool_name"]), *([""] if with_nodes else []), "-", ""]


def step_name(step: Row, model: Row | None) -> str:
    """Return the model for a model call, else the name the step has."""
    if model is not None:
        return text_of(model, "request_model") or text_of(model, "response_model") or str(step["name"])
    return str(step["name"])


def what(model: Row | None, tool: Row | None, room: int | None, mark: str) -> str:
    """Return what a step did, in at most `room` cells."""
    if model is not None:
        return _said(model, room, mark)
    return "" if tool is None else _done(tool, room, mark)


def failure(row: Row) -> str:
    """`! error ToolError: message` for a call that failed, else ''."""
    status = str(row["status"])
    if status == "ok":
        return ""
    words = [word for word in (text_of(row, "error_type"), text_of(row, "error_message")) if word]
    return f"! {status.replace('_', ' ')}" + (f" {': '.join(words)}" if words else "")


def answer_text(model: Row) -> str:
    """Return what a model call answered, in one line; '' if nothing is recorded."""
    output = parse(model["output_messages"])
    if isinstance(output, list):
        return " ".join(said for message in output if (said := message_text(message)))
    return output if isinstance(output, str) else ""


def _said(model: Row, room: int | None, mark: str) -> str:
    failed = failure(model)
    text = answer_text(model)
    if failed and not text:
        return fitted(failed, room, mark)
    if not text:
        return NOT_RECORDED
    length = whole(model, "output_length") if isinstance(parse(model["output_messages"]), str) else None
    return fitted(f"{failed} · {text}" if failed else text, room, mark, length)


def _head_room(room: int | None, tool: Row) -> int | None:
    """Cells for the arguments: half, and what a short result leaves."""
    if room is None:
        return None
    return max(room // 2, room - 4 - len(text_of(tool, "result") or "-"), 12)


def _done(tool: Row, room: int | None, mark: str) -> str:
    failed = failure(tool)
    given = call("", parse(tool["arguments"])) if tool["arguments"] is not None else "()"
    length = whole(tool, "arguments_length")
    shown = text_of(tool, "arguments")
    cut_by_sql = length if shown is not None and (length or 0) > len(shown) else None
    head = fitted(given, _head_room(room, tool), mark, cut_by_sql)
    if tool["result"] is None:
        missing = failed or (f"→ {NOT_RECORDED}")
        return fitted(f"{missing} {head}" if failed else f"{head} {missing}", room, mark)
    lead = f"{failed} {head} → " if failed else f"{head} → "
    result = brief_json(text_of(tool, "result"))
    whole_length = whole(tool, "result_length")
    left = None if room is None else max(room - cells(safe(lead)), 16)
    was_cut = len(str(tool["result"])) < (whole_length or 0)
    return fitted(lead, room, mark) + fitted(result, left, mark, whole_length if was_cut else None)
