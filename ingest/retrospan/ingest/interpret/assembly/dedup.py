"""One real request behind two spans: an SDK's span under a framework's, both telling of the same model call."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Set as AbstractSet

from retrospan.ingest.interpret.assembly.by_time import ByTime
from retrospan.ingest.interpret.assembly.counted_together import without_totals
from retrospan.ingest.interpret.assembly.same_request import without_doubles
from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.completion import agree, completed, is_fuller
from retrospan.ingest.interpret.normalize.message import Message, parts_of
from retrospan.ingest.interpret.normalize.model_names import is_version
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.operations import named_operation
from retrospan.ingest.interpret.normalize.same_tool import is_same_tool, same_arguments
from retrospan.ingest.interpret.normalize.tool_results import response_of
from retrospan.schemas import semconv


def single_requests(tree: Tree) -> list[NormalizedSpan]:
    """Return one span per real model request, in order.

    A span with exactly one model span below it is the same request: the outer span stands for it, completed by what only
    the inner one says. A span with several below it is not a request but something around them, as is one that only has
    the shape of a request and holds one that says what it is; where it has the id of the response of one of them, it
    completes that one, as it does the only one that did not fail where none of them says what was said.
    """
    below: dict[NormalizedSpan, list[NormalizedSpan]] = {}
    inside: set[NormalizedSpan] = set()
    inference = [span for span in tree.spans if span.operation == "inference"]
    if any(not span.is_told for span in inference):
        # Other spans may tell of the same calls again: those with spans of their own count.
        for span in inference:
            span.operation = "other" if span.is_told and not span.is_of_several else "inference"
        inference = [span for span in inference if span.operation == "inference"]
    nearest = tree.nearest(lambda span: span.operation == "inference")
    for span in inference:
        above = nearest.get(span)
        if above is not None:
            below.setdefault(above, []).append(span)
            inside.add(span)
    outermost = [span for span in inference if span not in inside]
    requests = _requests(tree, inference, below)
    found = [request for span in outermost for request in requests[span][1]]
    place = {span: number for number, span in enumerate(tree.spans)}
    return without_totals(tree, without_doubles(tree, sorted(found, key=place.__getitem__), _complete))


def _requests(
    tree: Tree, inference: list[NormalizedSpan], below: dict[NormalizedSpan, list[NormalizedSpan]]
) -> dict[NormalizedSpan, tuple[NormalizedSpan, list[NormalizedSpan]]]:
    """Return the first request and all requests that each model span is or holds, told from the innermost outwards."""
    requests: dict[NormalizedSpan, tuple[NormalizedSpan, list[NormalizedSpan]]] = {}
    tools = (span for span in tree.spans if span.operation == "tool") if below else ()
    executed = {span.tool_call_id for span in tools if span.tool_call_id}
    for span in sorted(inference, key=tree.depth, reverse=True):
        # Each list is taken once, by the span right around it.
        inner = [requests.pop(each) for each in below.get(span, [])]
        if inner and _comes_before(span, [own for _, each in inner for own in each], executed):
            requests[span] = (span, _joined([[span], *(own for _, own in inner)]))
            continue
        if len(inner) > 1 or any(_only_wraps(span, one) for one, _ in inner):
            answering = [one for one, _ in inner if not one.failed]
            for one, _ in inner:
                if one.response_id is not None and one.response_id == span.response_id:
                    _complete(one, span)  # what is around them tells of one of them as well
            if len(answering) == 1 < len(inner) and not any(one.input or one.output for one, _ in inner):
                # The others were tried before it with the same prompt, and failed.
                _complete(answering[0], span)
                for one, _ in inner:
                    one.system, one.input = one.system or span.system, one.input or span.input
            requests[span] = (inner[0][0], _joined([own for _, own in inner]))
            continue
        if inner:
            ((one, _),) = inner
            _complete(span, one)
            one.is_part = True
        requests[span] = (span, [span])
    return requests


def _comes_before(outer: NormalizedSpan, inner: list[NormalizedSpan], executed: AbstractSet[str]) -> bool:
    """Tell whether a span is a request of its own with others inside, as one that hands over to an agent which answers
    while it lasts: it asked for calls that were executed and that none of the others asked for.
    """
    own = _ids_asked([outer]) & executed
    return (
        bool(own)
        and own.isdisjoint(_ids_asked(inner))
        and not any(agree(outer.output, each.output) for each in inner if each.output)
    )


def _ids_asked(spans: list[NormalizedSpan]) -> set[str]:
    return {
        part["id"]
        for span in spans
        for message in span.output
        for part in parts_of(message, "tool_call")
        if "id" in part
    }


def _only_wraps(outer: NormalizedSpan, inner: NormalizedSpan) -> bool:
    """Tell whether a span has the shape of a request because of the one inside it: a function that passes both on."""
    named = (named_operation(span.fields, has_parent=True) for span in (outer, inner))
    return [operation is not None for operation in named] == [False, True]


def _joined(lists: list[list[NormalizedSpan]]) -> list[NormalizedSpan]:
    """Return all of the lists in one; the longest takes in the others, so that no span moves often."""
    longest = max(lists, key=len)
    for each in lists:
        if each is not longest:
            longest += each
    return longest


def single_executions(tree: Tree) -> list[NormalizedSpan]:
    """Return one span per execution of a tool, in order.

    A span right inside one of the same tool, with the same arguments, is the same execution: the outer span stands for
    it, completed by what only the inner one says. One that names no tool has the same call id. So is one elsewhere in
    the tree with the same call id, if it lies in the time of the other: another try of a call begins after the one before.
    """
    found: list[NormalizedSpan] = []
    nearest = tree.nearest(lambda span: span.operation != "other")
    for span in tree.spans:
        if span.operation != "tool":
            continue
        above = nearest.get(span)
        if above is not None and _is_same_execution(above, span):
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
    if not inner.failed:
        return
    outer.error_type = outer.error_type or inner.error_type
    outer.error_message = outer.error_message or inner.error_message
    if outer.sent.status == "unset" and not (outer.has_result or outer.interrupted):
        outer.failed = True


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


def _complete(outer: NormalizedSpan, inner: NormalizedSpan) -> None:
    """Fill what the outer span does not say from the inner one, in place.

    What it returned is not the answer where it tells nothing of a request, and the inner one all: it may be the name of
    an object.
    """
    said = (outer.request_model, outer.response_id, outer.tokens.output)
    tells_nothing = said == (None, None, None)
    for name in (
        "provider",
        "request_model",
        "response_model",
        "response_id",
        "previous_response_id",
        "first_chunk_ms",
        "prompt_name",
        "prompt_version",
        "error_type",
        "error_message",
    ):
        if getattr(outer, name) is None:
            setattr(outer, name, getattr(inner, name))
    for name in ("system", "tool_definitions", "parameters", "finish_reasons"):
        if not getattr(outer, name):
            setattr(outer, name, getattr(inner, name))
    if agree(outer.output, inner.output):
        outer.input = _fuller(outer.input, inner.input)
        outer.output = _fuller(outer.output, inner.output)
    elif not outer.input and tells_nothing and inner.input and inner.response_id:
        outer.input, outer.output = inner.input, inner.output
    if is_version(outer.request_model, inner.request_model) and outer.request_model == outer.response_model:
        outer.request_model = inner.request_model  # the outer one names what answered
    outer.stores_history = outer.stores_history or inner.stores_history
    outer.failed = outer.failed or inner.failed
    outer.tokens = outer.tokens.completed(inner.tokens)


def _fuller(messages: list[Message], other: list[Message]) -> list[Message]:
    """Return the telling that holds the other, or the first one with what the other says of the same acts."""
    return other if is_fuller(other, messages) else completed(messages, other)
