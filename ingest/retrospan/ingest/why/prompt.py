"""What fills the prompts of a run, where one thing fills most of them."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.row_values import whole
from retrospan.ingest.why.rows import RunRows
from retrospan.ingest.why.sentence import Basis, Quote, Row, Sentence, Value

#: Characters from which on a result is long, and the part of a prompt from which on a message fills it.
LONG, FILLS = 4_000, 0.5


def longest(rows: RunRows) -> Row | None:
    """Return the group of tool calls that holds the longest result, if that is long."""
    groups = rows.groups("status")
    found = max(groups, key=lambda group: whole(group, "longest_result") or 0, default=None)
    return found if found is not None and (whole(found, "longest_result") or 0) >= LONG else None


def prompt(rows: RunRows) -> Iterator[Sentence]:
    """Yield the longest result of a tool, and the message that fills the last prompt."""
    group = longest(rows)
    call = None if group is None else rows.call(group["longest_ordinal"])
    if call is not None and (whole(call, "result_length") or 0) >= LONG:
        step, ordinal = whole(call, "step"), whole(call, "ordinal")
        where = f"step {step}" if step is not None else f"tool call {ordinal}"
        said: list[str | Quote] = [
            "The longest result is that of ",
            Quote(str(call["tool_name"])),
            f" at {where}, of {call['result_length']:,} characters.",
        ]
        yield Sentence(
            "large",
            said,
            [Basis("tool_calls", {"run_id": rows.run_id, "ordinal": ordinal})],
            step,
            rows.run_id,
        )
    for row in rows.prompt[:1]:
        length, total = whole(row, "length") or 0, whole(row, "total") or 0
        if length < LONG or length < FILLS * total:
            continue
        who = {"tool": "a tool's", "user": "the user's", "assistant": "the model's"}.get(
            str(row["role"]), str(row["role"])
        )
        text = (
            f"Of the prompt of model call {row['model_call']}, {length / total:.0%} is one message, {who} "
            f"(message {row['position']}, {length:,} of {total:,} characters)."
        )
        key: dict[str, Value] = {
            "run_id": rows.run_id,
            "model_call": whole(row, "model_call"),
            "direction": "input",
            "position": whole(row, "position"),
        }
        yield Sentence("fills_prompt", [text], [Basis("messages", key)], None, rows.run_id)
