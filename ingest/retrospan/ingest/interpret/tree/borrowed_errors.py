"""Spans with another span's error: their instrumentation marks everything after a failure with the failure's message.

What failed says so itself, in an event. That errors are borrowed shows where every span which the same instrumentation
began after such a failure has failed as well, and several of them, without an event, with the very same message though
they did what they were to do: a model answered and said why it ended, a tool returned something else than this error.
These did not fail, nor did what is around a model that answered. One that may have failed of its own stays as it is told.

What is around an agent may repeat the error of a tool that it ran, as the first of a trace, though the agent went on, was
answered and did not fail: then it did not fail either.

A span that says nothing but an error, right after one beside it whose name it has with more behind it (`chat_error`), and
which failed with just that, tells that one again, and is not an act.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.facts import EXCEPTIONS, names_any
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.json_text import write_json

#: So many acts that ended well and say the error of another show that it is borrowed: one may have met it again.
_ACTS = 2
_KINDS = ("inference", "tool")


def clear_borrowed_errors(tree: Tree) -> None:
    """Take failures from the spans that only repeat one, in place."""
    _clear_above(tree, _failed(tree))
    _clear_retold(tree, _failed(tree))
    failed = _failed(tree)
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


def _failed(tree: Tree) -> list[NormalizedSpan]:
    return [span for span in tree.spans if span.failed and span.error_message]


def _clear_above(tree: Tree, failed: Sequence[NormalizedSpan]) -> None:
    """Take failures from the spans around agents that repeat the error of a tool after which the agent was answered."""
    tools = [span for span in failed if span.operation == "tool" and span.sent.ended_at > 0]
    repeating = {
        span: _error(span)
        for span in failed
        if tools and span.operation not in _KINDS and not names_any(span.sent, EXCEPTIONS)
    }
    last = _last_requests(tree) if repeating else {}
    # One tool after which nobody was answered is enough for what is around it to have failed with it.
    borrowed, own = set[NormalizedSpan](), set[NormalizedSpan]()
    gone_up = set[
        tuple[NormalizedSpan, tuple[str, str]]
    ]()  # from where all above that repeats an error is its own
    repeated = set(repeating.values())
    for tool in (tool for tool in tools if _error(tool) in repeated):
        error, agent, is_stopped = _error(tool), None, False
        for above in tree.ancestors(tool):
            if is_stopped and (above, error) in gone_up:
                break
            if repeating.get(above) == error:
                is_stopped = is_stopped or agent is None or not _answered(last.get(agent), tool)
                (own if is_stopped else borrowed).add(above)
            elif above.failed:
                is_stopped = True
            elif agent is None and above.operation == "agent" and above.sent.ended_at > 0:
                agent = above
            if is_stopped:
                gone_up.add((above, error))
    for span in borrowed - own:
        span.failed, span.error_type, span.error_message = False, None, None


def _last_requests(tree: Tree) -> dict[NormalizedSpan, NormalizedSpan]:
    """Return the last request inside each agent."""
    last: dict[NormalizedSpan, NormalizedSpan] = {}
    for span in reversed(tree.spans):
        for above in tree.ancestors(span) if span.operation == "inference" else ():
            if above.operation == "agent":
                if above in last:
                    break  # those around it have one as well
                last[above] = span
    return last


def _answered(request: NormalizedSpan | None, tool: NormalizedSpan) -> bool:
    """Tell whether a request was answered after a tool had failed."""
    return request is not None and not request.failed and _began_after(request, tool) and bool(request.output)


def _clear_retold(tree: Tree, failed: Sequence[NormalizedSpan]) -> None:
    """Take kind and failure from the spans that only tell the error of one beside them again."""
    latest: dict[tuple[str, str, str], NormalizedSpan] = {}
    for span in failed:
        place = (*_error(span), span.sent.parent_span_id)
        other = latest.get(place)
        if (
            other is not None
            and span.sent.name != other.sent.name
            and span.sent.name.startswith(other.sent.name)
            and tree.parent(span) is tree.parent(other)
            and 0 < other.sent.ended_at <= span.sent.started_at
            and not _says_more(span)
        ):
            span.operation = "other"
            span.failed, span.error_type, span.error_message = False, None, None
            continue
        latest[place] = span


def _says_more(span: NormalizedSpan) -> bool:
    return bool(
        span.input
        or span.output
        or span.system
        or span.request_model
        or span.response_id
        or span.tool_call_id
        or span.has_arguments
        or span.has_result
        or span.tokens.input is not None
    )


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
