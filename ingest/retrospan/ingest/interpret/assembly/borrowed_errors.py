"""Spans that say an error of another one: their instrumentation marks all that comes after a failure with its message.

What failed says so itself, in an event. That errors are borrowed shows where every span which the same instrumentation
began after such a failure has failed as well, and several of them, without an event, with the very same message though
they did what they were to do: a model answered and said why it ended, a tool returned something else than this error.
These did not fail, nor did what is around a model that answered. One that may have failed of its own stays as it is told.

What is around an agent may repeat the error of a tool that it ran, as the first of a trace, though the agent went on, was
answered and did not fail: then it did not fail either.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.facts import EXCEPTIONS, names_any
from retrospan.ingest.json_text import write_json

#: So many acts that ended well and say the error of another show that it is borrowed: one may have met it again.
_ACTS = 2
_KINDS = ("inference", "tool")


def clear_borrowed_errors(tree: Tree) -> None:
    """Take failures from the spans that only repeat one, in place."""
    failed = [span for span in tree.spans if span.failed and span.error_message]
    _clear_above(tree, failed)
    if len(failed) <= _ACTS:
        return
    own = {span for span in failed if names_any(span.sent, EXCEPTIONS)}
    first: dict[tuple[str, str], NormalizedSpan] = {}
    since: dict[str, int] = {}
    for span in failed:
        if span in own and span.operation == "tool" and span.sent.ended_at > 0:
            first.setdefault(_error(span), span)
            since[span.sent.scope] = min(span.sent.ended_at, since.get(span.sent.scope, span.sent.ended_at))
    if not first:
        return
    marking = since.keys() - {
        span.sent.scope
        for span in tree.spans
        if span.sent.started_at >= since.get(span.sent.scope, sys.maxsize)
        and not (span in own or (span.failed and _error(span) in first))
    }
    for scope in sorted(marking):
        repeating = [
            span for span in failed if span.sent.scope == scope and span not in own and _error(span) in first
        ]
        acts = [span for span in repeating if _began_after(span, first[_error(span)]) and _did(span)]
        if len(acts) >= _ACTS:
            _clear(tree, repeating, acts)


def _clear_above(tree: Tree, failed: Sequence[NormalizedSpan]) -> None:
    """Take failures from the spans around agents that repeat the error of a tool after which the agent was answered."""
    tools = [span for span in failed if span.operation == "tool" and span.sent.ended_at > 0]
    for span in failed if tools else ():
        if span.operation in _KINDS or names_any(span.sent, EXCEPTIONS):
            continue
        same = [tool for tool in tools if _error(tool) == _error(span)]
        if any(_went_on(tree, span, tool) for tool in same):
            span.failed, span.error_type, span.error_message = False, None, None


def _went_on(tree: Tree, outer: NormalizedSpan, tool: NormalizedSpan) -> bool:
    """Tell whether the agent around a tool, inside another span, did not fail, and what it asked last was answered."""
    between: list[NormalizedSpan] = []
    above = tree.parent(tool)
    while above is not None and above is not outer:
        between.append(above)
        above = tree.parent(above)
    if above is None or any(span.failed for span in between):
        return False
    agent = next((span for span in between if span.operation == "agent" and span.sent.ended_at > 0), None)
    if agent is None:
        return False
    around = tree.nearest(lambda span: span is agent)
    asked = [span for span in tree.spans if span.operation == "inference" and span in around]
    last = asked[-1] if asked else None
    return last is not None and not last.failed and _began_after(last, tool) and bool(last.output)


def _began_after(span: NormalizedSpan, origin: NormalizedSpan) -> bool:
    return span.sent.started_at >= origin.sent.ended_at


def _error(span: NormalizedSpan) -> tuple[str, str]:
    return span.sent.scope, span.error_message or ""


def _did(span: NormalizedSpan) -> bool:
    """Tell whether an act did what it was to do: nothing in what it returned is the error."""
    if span.operation == "inference":
        return bool(span.output and span.finish_reasons)
    return (
        span.operation == "tool"
        and span.has_result
        and (span.error_message or "") not in write_json(span.result)
    )


def _clear(tree: Tree, repeating: Sequence[NormalizedSpan], acts: Sequence[NormalizedSpan]) -> None:
    above = tree.around([act for act in acts if act.operation == "inference"])
    around = [span for span in repeating if span.operation not in _KINDS and span in above]
    for span in (*acts, *around):
        span.failed, span.error_type, span.error_message = False, None, None
