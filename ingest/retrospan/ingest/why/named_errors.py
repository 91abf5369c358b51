"""Results that begin as errors do: of calls that are ok on record, and of tools that there are none of."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrospan.ingest.row_values import text_of, whole
from retrospan.ingest.why.columns import quote_of
from retrospan.ingest.why.rows import RunRows
from retrospan.ingest.why.sentence import Basis, Quote, Row, Sentence

#: How results begin that say that something failed: a word at the head of a text, or the first field of an object.
BEGINNING = (
    r'(?i)^\s*"?(error|fatal|exception|failed|failure|traceback|\w+(error|exception))\b\s*[:!(]'
    r'|^\s*\{\s*"(error|errors|exception)"\s*:\s*("[^"]|\{\s*"|\[\s*["{]|true)'
    r'|^\s*\{\s*"(status|state|outcome)"\s*:\s*"(error|failed|failure|timeout|timed[_ ]out)"'
    r'|^\s*\{\s*"(ok|success)"\s*:\s*false'
)
_BEGINNING = re.compile(BEGINNING)
#: How frameworks tell a model that there is no tool of a name.
_NO_TOOL = re.compile(
    r"(?i)(unknown|no such|invalid|not a valid) (tool|function)|(tool|function)\b.{0,200}?(not found|does not exist)"
)
_MOST = 300


def named_errors(rows: RunRows) -> Iterator[tuple[Sentence, float, Row]]:
    """Yield each call that is ok on record though its result begins as an error does, and where it stands."""
    for call in rows.calls:
        result = quote_of(call, "result", "result_length")
        if call["status"] != "ok" or result is None or not _BEGINNING.match(result.text[:_MOST]):
            continue
        ordinal, step, asked_by = whole(call, "ordinal"), whole(call, "step"), whole(call, "asked_by")
        where = f"step {step}" if step is not None else f"tool call {ordinal}"
        said: list[str | Quote] = [
            f"What {where}, of ",
            Quote(str(call["tool_name"])),
            ", returned begins as an error does, though the call is ok on record: ",
            result,
            ".",
        ]
        basis = Basis("tool_calls", {"run_id": rows.run_id, "ordinal": ordinal, "status": "ok"})
        place = step if step is not None else float("inf") if asked_by is None else asked_by + 0.5
        yield Sentence("named_error", said, [basis], step, rows.run_id), place, call


def has_no_tool(call: Row) -> bool:
    """Return whether a call without a span was answered that there is no such tool: it did nothing to the world."""
    told = (text_of(call, "result") or "")[:_MOST]
    name = text_of(call, "tool_name") or ""
    return call["step"] is None and bool(name) and name in told and _NO_TOOL.search(told) is not None
