"""The ids of calls that an instrumentation leaves out of answers, where the executions tell them.

A call is that of the execution with its name and its arguments (or untold ones) which ran between its answer and the next request: where of
several alike as many ran, in their order. An id that a framework made up for itself is none of the model's.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from retrospan.ingest.interpret.normalize.message import Part, parts_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.qualified_ids import UUID
from retrospan.ingest.interpret.normalize.same_tool import is_same_tool, same_arguments


def take_executed_ids(requests: Sequence[NormalizedSpan], executed: Sequence[NormalizedSpan]) -> None:
    """Give calls without an id those of their executions, in place. Where nothing else tells ids, no span has any."""
    lacking = [span for span in requests if any(map(_lacks_id, _calls_of(span)))]
    named = [each for each in executed if each.tool_call_id and not UUID.fullmatch(each.tool_call_id)]
    if not lacking or not named:
        return
    following = {before: after.sent.started_at for before, after in pairwise(requests)}
    for span in lacking:
        ended = following.get(span)
        between = [
            each
            for each in named
            if each.sent.started_at >= span.sent.done_at and (ended is None or each.sent.started_at <= ended)
        ]
        ids = _ids(_calls_of(span), between)
        if ids:
            span.output = [
                {
                    **message,
                    "parts": [
                        {**part, "id": ids[id(part)]} if id(part) in ids else part
                        for part in message["parts"]
                    ],
                }
                for message in span.output
            ]


def _calls_of(span: NormalizedSpan) -> list[Part]:
    return [part for message in span.output for part in parts_of(message, "tool_call")]


def _lacks_id(part: Part) -> bool:
    return not part.get("id")


def _ids(calls: Sequence[Part], between: Sequence[NormalizedSpan]) -> dict[int, str]:
    """Return the ids of the calls that lack one, by their parts' identities."""
    told = {part.get("id") for part in calls}
    free = [each for each in between if each.tool_call_id not in told]
    found: dict[int, str] = {}
    for part in calls:
        if not _lacks_id(part) or id(part) in found:
            continue
        alike = [other for other in calls if _lacks_id(other) and _is_like(other, part)]
        ran = [each for each in free if _executes(each, part)]
        if len(ran) == len(alike):
            found.update((id(other), each.tool_call_id or "") for other, each in zip(alike, ran, strict=True))
    return found


def _is_like(one: Part, other: Part) -> bool:
    return one.get("name") == other.get("name") and one.get("arguments") == other.get("arguments")


def _executes(span: NormalizedSpan, part: Part) -> bool:
    return is_same_tool(span.tool_name or "", part.get("name", "")) and (
        not span.has_arguments or same_arguments(span.arguments, part.get("arguments"))
    )
