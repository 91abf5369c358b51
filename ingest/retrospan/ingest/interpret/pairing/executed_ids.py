"""The ids of calls that an instrumentation leaves out of answers, where the executions tell them.

A call is that of the execution with its name and its arguments (or untold ones) which ran between its answer and the
next request: where of several alike as many ran, in their order. Only where the requests of the run take turns: what ran
between two of them no other answer can have asked for. An id that a framework made up for itself is not the model's.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

from retrospan.ingest.interpret.messages.message import Part, parts_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.qualified_ids import UUID, is_unique
from retrospan.ingest.interpret.normalize.same_tool import is_same_tool, same_arguments
from retrospan.ingest.interpret.unfolding.untold_answers import take_turns
from retrospan.ingest.json_text import write_json

#: Of more executions between two requests nothing is taken.
MOST = 100


def take_executed_ids(requests: Sequence[NormalizedSpan], executed: Sequence[NormalizedSpan]) -> None:
    """Give calls without an id those of their executions, in place. Where nothing else tells ids, no span has any."""
    lacking = [span for span in requests if any(map(_lacks_id, _calls_of(span)))]
    named = [each for each in executed if _is_given(each.tool_call_id or "")]
    if not lacking or not named or not take_turns(requests):
        return
    told = {part.get("id") for span in requests for part in _calls_of(span)}
    named = [each for each in named if each.tool_call_id not in told]
    named.sort(key=lambda each: each.sent.started_at)
    began = [each.sent.started_at for each in named]
    following = {before: after.sent.started_at for before, after in pairwise(requests)}
    for span in lacking:
        end = bisect_right(began, following[span]) if span in following else len(named)
        between = named[bisect_left(began, span.sent.done_at) : end]
        ids = _ids(_calls_of(span), between) if len(between) <= MOST else {}
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


def _is_given(call_id: str) -> bool:
    """Tell whether an id looks like one that a model's API gave: not like a number in a row, nor like a framework's own."""
    return is_unique(call_id) and not UUID.fullmatch(call_id)


def _calls_of(span: NormalizedSpan) -> list[Part]:
    return [part for message in span.output for part in parts_of(message, "tool_call")]


def _lacks_id(part: Part) -> bool:
    return not part.get("id")


def _ids(calls: Sequence[Part], between: Sequence[NormalizedSpan]) -> dict[int, str]:
    """Return the ids of the calls that lack one, by their parts' identities."""
    alike: dict[str, list[Part]] = {}
    for part in calls if between else ():
        if _lacks_id(part):
            alike.setdefault(write_json([part.get("name"), part.get("arguments")]), []).append(part)
    found: dict[int, str] = {}
    for parts in alike.values():
        ran = [each for each in between if _executes(each, parts[0])]
        if len(ran) == len(parts):
            found.update((id(part), each.tool_call_id or "") for part, each in zip(parts, ran, strict=True))
    return found


def _executes(span: NormalizedSpan, part: Part) -> bool:
    return is_same_tool(span.tool_name or "", part.get("name", "")) and (
        not span.has_arguments or same_arguments(span.arguments, part.get("arguments"))
    )
