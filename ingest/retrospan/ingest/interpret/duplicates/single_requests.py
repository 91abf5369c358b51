"""One real request behind two spans: an SDK's span under a framework's, both telling of the same model call."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from retrospan.ingest.interpret.duplicates.counted_together import without_totals
from retrospan.ingest.interpret.duplicates.same_request import without_doubles
from retrospan.ingest.interpret.messages.completion import agree, completed, is_fuller
from retrospan.ingest.interpret.messages.finish_reasons import FOR_TOOLS
from retrospan.ingest.interpret.messages.message import Message, parts_of
from retrospan.ingest.interpret.normalize.model_names import is_version
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.operations import named_operation
from retrospan.ingest.interpret.tree.tree import Tree


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
    ran = _first_ended(tree, nearest) if below else {}
    requests = _requests(tree, inference, below, ran)
    found = [request for span in outermost for request in requests[span][1]]
    place = {span: number for number, span in enumerate(tree.spans)}
    return without_totals(tree, without_doubles(tree, sorted(found, key=place.__getitem__), _complete))


def _first_ended(tree: Tree, nearest: Mapping[NormalizedSpan, NormalizedSpan]) -> dict[NormalizedSpan, int]:
    """Return when the first execution right inside each model span had ended."""
    ran: dict[NormalizedSpan, int] = {}
    for span in tree.spans:
        if span.operation == "tool" and span in nearest and span.sent.ended_at:
            above = nearest[span]
            ran[above] = min(span.sent.ended_at, ran.get(above, span.sent.ended_at))
    return ran


def _requests(
    tree: Tree,
    inference: list[NormalizedSpan],
    below: dict[NormalizedSpan, list[NormalizedSpan]],
    ran: Mapping[NormalizedSpan, int],
) -> dict[NormalizedSpan, tuple[NormalizedSpan, list[NormalizedSpan]]]:
    """Return the first request and all requests that each model span is or holds, told from the innermost outwards."""
    requests: dict[NormalizedSpan, tuple[NormalizedSpan, list[NormalizedSpan]]] = {}
    tools = (span for span in tree.spans if span.operation == "tool") if below else ()
    executed = {span.tool_call_id for span in tools if span.tool_call_id}
    for span in sorted(inference, key=tree.depth, reverse=True):
        # Each list is taken once, by the span right around it.
        inner = [requests.pop(each) for each in below.get(span, [])]
        others = [own for _, each in inner for own in each]
        if others and (
            _comes_before(span, others, executed)
            or _has_answered(span, others, ran)
            or _was_over(span, others)
        ):
            requests[span] = (span, _joined([[span], *(own for _, own in inner)]))
            continue
        # What is right inside may be around several itself: then so is this one.
        is_around = any(one not in below[span] and _are_several(own) for one, own in inner)
        if is_around or len(inner) > 1 or any(_only_wraps(span, one) for one, _ in inner):
            answering = [one for one, _ in inner if not one.failed]
            for one, _ in inner:
                if one.response_id is not None and one.response_id == span.response_id:
                    _complete_from_around(one, span)
            if len(answering) == 1 < len(inner) and not any(one.input or one.output for one, _ in inner):
                # The others were tried before it with the same prompt, and failed.
                _complete(answering[0], span)
                for one, _ in inner:
                    one.system, one.input = one.system or span.system, one.input or span.input
            requests[span] = (inner[0][0], _joined([own for _, own in inner]))
            continue
        beside: list[NormalizedSpan] = []
        if inner:
            ((one, own),) = inner
            _complete(span, one)
            one.is_part = True
            if one in below[span]:  # a request with others inside, which are not part of it
                beside = [each for each in own if each is not one]
        requests[span] = (span, [span, *beside])
    return requests


def _are_several(requests: list[NormalizedSpan]) -> bool:
    """Tell whether responses have different ids, or one request failed beside those that were answered."""
    ended = {span.response_id or "failed" for span in requests if span.response_id or span.failed}
    return len(ended) > 1


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


def _has_answered(
    outer: NormalizedSpan, inner: list[NormalizedSpan], ran: Mapping[NormalizedSpan, int]
) -> bool:
    """Tell whether a span is a request of its own with others inside, as one whose stream is still open while the tools run
    that its answer asked for and the model is asked again: its response has another id than theirs, and it ended for a tool
    that had run when they began.
    """
    ids = {each.response_id for each in inner}
    return (
        outer in ran
        and outer.response_id is not None
        and None not in ids
        and outer.response_id not in ids
        and any(map(FOR_TOOLS.search, outer.finish_reasons))
        and ran[outer] <= min(each.sent.started_at for each in inner)
    )


def _was_over(outer: NormalizedSpan, inner: list[NormalizedSpan]) -> bool:
    """Tell whether a span is a request of its own that had been answered when the others inside it began: a program may
    hang what it does next below it. By one clock only; none of them tells its response again.
    """
    return outer.response_id is not None and all(
        each.sent.started_at >= outer.sent.until
        and each.sent.resource == outer.sent.resource
        and each.response_id != outer.response_id
        for each in inner
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
    if is_version(outer.request_model, inner.request_model) and outer.response_model in (
        None,
        outer.request_model,
    ):
        # The outer one names what answered.
        outer.response_model = None if outer.failed else outer.request_model
        outer.request_model = inner.request_model
    if is_version(inner.response_model, outer.response_model) and outer.request_model == outer.response_model:
        outer.response_model = inner.response_model  # a gateway answers under the name that it was asked for
    outer.stores_history = outer.stores_history or inner.stores_history
    outer.failed = outer.failed or inner.failed
    outer.tokens = outer.tokens.completed(inner.tokens)


def _complete_from_around(one: NormalizedSpan, around: NormalizedSpan) -> None:
    """Fill what a request does not say from a span around several, which tells of it as well, in place.

    That span may count all of them, and may have failed with another: this one was answered, as its id shows.
    """
    tokens, failed, error = one.tokens, one.failed, (one.error_type, one.error_message)
    _complete(one, around)
    one.failed, (one.error_type, one.error_message) = failed, error
    if (tokens.input, tokens.output) != (None, None):
        one.tokens = tokens


def _fuller(messages: list[Message], other: list[Message]) -> list[Message]:
    """Return the telling that holds the other, or the first one with what the other says of the same acts."""
    return other if is_fuller(other, messages) else completed(messages, other)
