"""What lists and comparisons of many runs ask of each: its loops, and its tools in order. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import repeat

from retrospan.ingest.interpret.spans.key import Key
from retrospan.schemas.canonical import HabitRow, LoopRow, ToolCallRow

#: So many calls in a row with the same tool and arguments are a loop.
LOOP_CALLS = 3

_NEVER_RAN = ("not_executed", "unknown")


def habit_rows(key: Key, calls: Sequence[ToolCallRow]) -> list[HabitRow]:
    """Return the row of a run that called tools, whether they ran or not; none of a run without. Calls are in order."""
    return [HabitRow(**key, tools=[call.tool_name for call in calls])] if calls else []


def loop_rows(key: Key, calls: Sequence[ToolCallRow], invocations: Sequence[int] = ()) -> list[LoopRow]:
    """Return the loops of a run: executed calls in a row of one agent. Unknown arguments equal nothing.

    `invocations` has the number of each call's invocation of its agent; of runs that tell none all are one.
    """
    by_agent: defaultdict[tuple[str | None, int], list[ToolCallRow]] = defaultdict(list)
    for call, invocation in zip(calls, invocations or repeat(0), strict=False):
        if call.step is not None and call.status not in _NEVER_RAN:
            by_agent[call.agent_name, invocation].append(call)
    found: list[LoopRow] = []
    for of_agent in by_agent.values():
        if len(of_agent) < LOOP_CALLS:
            continue
        row: list[ToolCallRow] = []
        for call in sorted(of_agent, key=lambda call: (call.step or 0, call.ordinal)):
            if row and not _is_repeated(row[-1], call):
                found += _loop(key, row)
                row = []
            row.append(call)
        found += _loop(key, row)
    return sorted(found, key=lambda loop: (loop.first_step, loop.last_step))


def _is_repeated(before: ToolCallRow, call: ToolCallRow) -> bool:
    same = before.arguments_hash == call.arguments_hash and before.tool_name == call.tool_name
    return same and bool(call.arguments_hash)


def _loop(key: Key, row: Sequence[ToolCallRow]) -> list[LoopRow]:
    if len(row) < LOOP_CALLS:
        return []
    first, last = row[0], row[-1]
    return [
        LoopRow(
            **key,
            agent_name=first.agent_name,
            tool_name=first.tool_name,
            arguments_hash=first.arguments_hash or "",
            arguments=first.arguments,
            repeats=len(row),
            first_step=first.step or 0,
            last_step=last.step or 0,
            same_result=bool(first.result_hash) and len({call.result_hash for call in row}) == 1,
            started_at=first.started_at,
        )
    ]
