"""One real execution of a tool behind two spans: a client's inside a framework's, a server's in another trace."""

from __future__ import annotations

import re
from collections import Counter

from retrospan.ingest.interpret.messages.tool_results import response_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.same_tool import is_same_tool, same_arguments
from retrospan.ingest.interpret.tree.by_time import ByTime
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.schemas import semconv


def single_executions(tree: Tree) -> list[NormalizedSpan]:
    """Return one span per execution of a tool, in order.

    A span right inside one of the same tool, with the same arguments, is the same execution: the outer span stands for
    it, completed by what only the inner one says. One that names no tool has the same call id, or is not an execution if
    it took no time. So is one elsewhere in the tree with the same call id, if it lies in the time of the other: another
    try of a call begins after the one before.
    """
    found: list[NormalizedSpan] = []
    nearest = tree.nearest(lambda span: span.operation != "other")
    for span in tree.spans:
        if span.operation != "tool":
            continue
        above = nearest.get(span)
        if above is not None and above.operation == "tool" and _only_announces(span):
            span.operation = "other"
        elif above is not None and _is_same_execution(above, span):
            span.is_part = True
            if _is_named_by_code(span):
                span.tool_name = above.tool_name  # what is right inside it may name the tool
        else:
            found.append(span)
    tried: set[NormalizedSpan] = set()
    for span in reversed(tree.spans):
        if span.operation == "tool" and span.is_part:
            outer = nearest[span]
            if outer not in tried:
                tried.add(outer)  # by the last one inside it: those before were tried again
                _fail_with(outer, span)
            _complete_execution(outer, span)
    _note_refusals(tree)
    apart = _told_apart(found)
    for inner, outer in apart.items():
        inner.is_part = True
        _fail_with(outer, inner)
        _complete_execution(outer, inner)
    return [span for span in found if span not in apart] if apart else found


def _told_apart(executed: list[NormalizedSpan]) -> dict[NormalizedSpan, NormalizedSpan]:
    """Return the spans that lie in the time of the only other with the same call id, and are the same execution; each with
    the one around it."""
    by_id: dict[str, list[NormalizedSpan]] = {}
    for span in executed:
        if span.tool_call_id:
            by_id.setdefault(span.tool_call_id, []).append(span)
    found: dict[NormalizedSpan, NormalizedSpan] = {}
    for spans in by_id.values():
        for outer, inner in (spans, spans[::-1]) if len(spans) == 2 else ():
            if not found.keys() & {outer, inner} and _lies_in(inner, outer) and _is_one(outer, inner):
                found[inner] = outer
    rest = [span for span in executed if span not in found]
    unnamed = [span for span in rest if not span.tool_call_id]
    traces = {span.sent.trace_id for span in rest} if len(unnamed) < len(rest) else set[str]()
    telling = [span for span in unnamed if len(traces) > 1 or _is_of_mcp(span)]
    return found | _without_id(rest, telling) if telling else found


def _is_of_mcp(span: NormalizedSpan) -> bool:
    return semconv.MCP_METHOD_NAME in span.sent.attributes


def _may_be_told_by(span: NormalizedSpan, other: NormalizedSpan) -> bool:
    """Tell whether a span without a call id may tell again what another tells: that is one with an id in another trace, or
    not of MCP, of which the span is the client or the server."""
    if _is_of_mcp(span) > _is_of_mcp(other):
        return True
    return bool(other.tool_call_id) and span.sent.trace_id != other.sent.trace_id


def _without_id(
    executed: list[NormalizedSpan], unnamed: list[NormalizedSpan]
) -> dict[NormalizedSpan, NormalizedSpan]:
    """Return the executions without a call id that another trace of the run tells as well, or that are MCP's of one: those of
    the same tool that lie in just one with an id, or around it; the inner one of each two, with the other."""
    by_tool: dict[str, list[NormalizedSpan]] = {}
    for span in executed:
        by_tool.setdefault(_last_word(span), []).append(span)
    by_time = {word: ByTime(spans) for word, spans in by_tool.items()}
    fitting = {
        span: [
            each
            for each in by_time[_last_word(span)].near(span)
            if each is not span
            and _may_be_told_by(span, each)
            and (_lies_in(span, each) or _lies_in(each, span))
            and (_is_one(each, span) or _is_one(span, each))
        ]
        for span in unnamed
    }
    times = Counter(each for found in fitting.values() for each in found)
    pairs = [(span, found[0]) for span, found in fitting.items() if len(found) == 1 and times[found[0]] == 1]
    return dict((one, other) if _lies_in(one, other) else (other, one) for one, other in pairs)


def _last_word(span: NormalizedSpan) -> str:
    """Return what two names of one tool have in common: whatever one has more stands before it."""
    return re.split(r"[^A-Za-z0-9]", span.tool_name or "")[-1]


def _lies_in(inner: NormalizedSpan, outer: NormalizedSpan) -> bool:
    return outer.sent.started_at <= inner.sent.started_at < inner.sent.until <= outer.sent.until


def _is_one(outer: NormalizedSpan, inner: NormalizedSpan) -> bool:
    """Tell whether two spans with one call id can be one execution: there are ids that agents count on their own."""
    if not (outer.has_arguments and inner.has_arguments):
        return is_same_tool(outer.tool_name or "", inner.tool_name or "")
    return _is_same_execution(outer, inner) and same_arguments(outer.arguments, inner.arguments)


def _is_same_execution(outer: NormalizedSpan, inner: NormalizedSpan) -> bool:
    if outer.operation != "tool":
        return False
    has_ids = bool(outer.tool_call_id and inner.tool_call_id)
    if has_ids and outer.tool_call_id != inner.tool_call_id:
        return False
    if is_same_tool(outer.tool_name or "", inner.tool_name or ""):
        if has_ids:
            return True
    elif not (has_ids and _is_named_by_code(inner)):
        return False
    if not (outer.has_arguments and inner.has_arguments):
        return True
    return same_arguments(outer.arguments, inner.arguments) or same_arguments(
        inner.arguments, outer.arguments
    )


def _is_named_by_code(span: NormalizedSpan) -> bool:
    """Tell whether a span names no tool: it is called after the code that ran one."""
    return span.tool_name == span.sent.name


def _only_announces(span: NormalizedSpan) -> bool:
    """Tell whether a span inside an execution only says that something happened to it: it names no tool and took no time."""
    return _is_named_by_code(span) and 0 < span.sent.ended_at <= span.sent.started_at


def _note_refusals(tree: Tree) -> None:
    """Note which executions were refused by the last thing that is told right inside them, where they do not say themselves
    how they ended, in place."""
    if not any(span.refused and span.operation == "other" for span in tree.spans):
        return
    last = {above: span for span in tree.spans if (above := tree.parent(span)) is not None}
    for above, span in last.items():
        if above.operation == "tool" and span.operation == "other" and not (above.failed or above.has_result):
            above.refused = above.refused or span.refused


def _fail_with(outer: NormalizedSpan, inner: NormalizedSpan) -> None:
    """Note with which error the last try of an execution failed, and that it failed itself where the span around it says
    neither how it ended nor what it returned, in place."""
    if not inner.failed or _tells_success(outer):
        return
    outer.error_type = outer.error_type or inner.error_type
    outer.error_message = outer.error_message or inner.error_message
    if outer.sent.status == "unset" and not (outer.has_result or outer.interrupted):
        outer.failed = True


def _tells_success(span: NormalizedSpan) -> bool:
    """Tell whether an execution says that it went well: what failed inside it, as a hook, was not the tool."""
    return any(
        value is True or value == "true"
        for name, value in span.sent.attributes.items()
        if name.rpartition(".")[2] == "success"
    )


def _complete_execution(outer: NormalizedSpan, inner: NormalizedSpan) -> None:
    outer.tool_call_id = outer.tool_call_id or inner.tool_call_id
    if inner.has_arguments and not outer.has_arguments:
        outer.arguments, outer.has_arguments = inner.arguments, True
    if inner.has_result and not outer.has_result:
        outer.result, outer.has_result = inner.result, True
    elif outer.has_result and _is_of_mcp(inner) and isinstance(outer.result, str):
        blocks = _blocks_of(inner.result)
        text = "".join(str(block.get("text", "")) for block in blocks)
        if text and len(text) < len(outer.result) and outer.result.startswith(text):
            outer.result = response_of(blocks)  # what the tool returned: the model was told more


def _blocks_of(result: object) -> list[dict[str, object]]:
    """Return the blocks of text that a tool returned by MCP, none of a result that holds anything else."""
    held = result.get("content") if isinstance(result, dict) and result.get("isError") is not True else None
    blocks = held if isinstance(held, list) else []
    return blocks if all(isinstance(block, dict) and block.get("type") == "text" for block in blocks) else []
