"""Handovers that a tool's span tells without the name of a tool: the run tells which call each executes.

Such a span was given the name of the agent that asked, and returned that of another one; or it says nothing at all, and is
called after what the tool has for its last word (`handoff to orla` for `transfer_to_orla`). It ran right after the answer
that asked, before any other request, and is the only one there, as the call is the only one of its answer that has no
execution. Else nothing is known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import accumulate

from retrospan.ingest.interpret.calls.calls import ModelCall, RequestedCall
from retrospan.ingest.interpret.messages.message import Part
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan

_LAST_WORD = re.compile(r"[^\W_]+(?=[\W_]*\Z)")


def find_handovers(
    executed: Sequence[NormalizedSpan],
    paired: Collection[NormalizedSpan],
    asked: Sequence[RequestedCall],
    models: Sequence[ModelCall],
    returned: Callable[[RequestedCall], Part | None],
) -> Iterator[tuple[NormalizedSpan, RequestedCall]]:
    """Yield handovers, each with its call, which is marked so, in place.

    The names of agents are neither the arguments of the call nor, where a message tells its result, that.
    """
    waiting: dict[int, list[RequestedCall]] = {}
    for call in asked:
        if not call.taken:
            waiting.setdefault(call.by, []).append(call)
    unnamed = [span for span in executed if waiting and span not in paired and _is_unnamed(span)]
    if not unnamed:
        return
    began = [call.span.sent.started_at for call in models]
    ended = [*accumulate((call.span.sent.done_at for call in models), max)]
    after: dict[int, list[NormalizedSpan]] = {}
    for span in unnamed:
        before = bisect_right(began, span.sent.started_at)
        if before and ended[before - 1] <= span.sent.started_at:
            after.setdefault(before, []).append(span)
    agents = {call.span.agent_name for call in models}
    for ordinal, spans in after.items():
        calls, asking = waiting.get(ordinal, []), models[ordinal - 1].span.agent_name
        if len(spans) == len(calls) == 1 and (
            _hands_over(spans[0], asking, agents) or _is_called_like(spans[0], calls[0])
        ):
            (span,), (call,) = spans, calls
            call.taken = True
            span.arguments, span.has_arguments = None, False
            if returned(call) is not None:
                span.result, span.has_result = None, False
            yield span, call


def _is_unnamed(span: NormalizedSpan) -> bool:
    names_tool = span.fields.any(*span.names.tools) is not None or span.tool_name != span.sent.name
    return not (names_tool or span.tool_call_id or span.is_told)


def _hands_over(span: NormalizedSpan, asking: str | None, agents: Collection[str | None]) -> bool:
    """Tell whether a span was given the name of the agent that asked, and returned that of another one of the run."""
    given, result = span.arguments, span.result
    is_named = isinstance(given, str) and isinstance(result, str) and given != result
    return is_named and given == asking and result in agents


def _is_called_like(span: NormalizedSpan, call: RequestedCall) -> bool:
    word = _last_word(span.sent.name)
    return not (span.has_arguments or span.has_result) and word != "" and word == _last_word(call.name)


def _last_word(name: str) -> str:
    found = _LAST_WORD.search(name)
    return found[0].lower() if found else ""
