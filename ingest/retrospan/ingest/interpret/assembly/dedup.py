"""One real request behind two spans: an SDK's span under a framework's, both telling of the same model call."""

from __future__ import annotations

from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.matching import is_same_tool, same_arguments
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan, TokenUsage


def single_requests(tree: Tree) -> list[NormalizedSpan]:
    """Return one reading per real model request, in order.

    A span with exactly one model span below it is the same request: the outer span stands for it, completed by what only
    the inner one says. A span with several below it is not a request but something around them.
    """
    below: dict[int, list[NormalizedSpan]] = {}
    inside: set[int] = set()
    inference = [reading for reading in tree.readings if reading.operation == "inference"]
    if any(not reading.is_told for reading in inference):
        # Other spans may tell of the same calls again: those with spans of their own count.
        for reading in inference:
            reading.operation = "other" if reading.is_told else "inference"
        inference = [reading for reading in inference if not reading.is_told]
    nearest = tree.nearest(lambda reading: reading.operation == "inference")
    for reading in inference:
        above = nearest.get(id(reading))
        if above is not None:
            below.setdefault(id(above), []).append(reading)
            inside.add(id(reading))
    outermost = [reading for reading in inference if id(reading) not in inside]
    requests = _requests(tree, inference, below)
    found = [request for reading in outermost for request in requests[id(reading)][1]]
    place = {id(reading): number for number, reading in enumerate(tree.readings)}
    return sorted(found, key=lambda reading: place[id(reading)])


def _requests(
    tree: Tree, inference: list[NormalizedSpan], below: dict[int, list[NormalizedSpan]]
) -> dict[int, tuple[NormalizedSpan, list[NormalizedSpan]]]:
    """Return the first request and all requests that each model span is or holds, told from the innermost outwards."""
    requests: dict[int, tuple[NormalizedSpan, list[NormalizedSpan]]] = {}
    for reading in sorted(inference, key=tree.depth, reverse=True):
        # Each list is taken once, by the span right around it.
        inner = [requests.pop(id(each)) for each in below.get(id(reading), [])]
        if len(inner) > 1:
            requests[id(reading)] = (inner[0][0], _joined([own for _, own in inner]))
            continue
        if inner:
            one = inner[0][0]
            _complete(reading, one)
            one.is_part = True
        requests[id(reading)] = (reading, [reading])
    return requests


def _joined(lists: list[list[NormalizedSpan]]) -> list[NormalizedSpan]:
    """Return all of the lists in one; the longest takes in the others, so that no reading moves often."""
    longest = max(lists, key=len)
    for each in lists:
        if each is not longest:
            longest += each
    return longest


def single_executions(tree: Tree) -> list[NormalizedSpan]:
    """Return one reading per execution of a tool, in order.

    A span right inside one of the same tool, with the same arguments, is the same execution: the outer span stands for
    it, completed by what only the inner one says.
    """
    found: list[NormalizedSpan] = []
    nearest = tree.nearest(lambda reading: reading.operation != "other")
    for reading in tree.readings:
        if reading.operation != "tool":
            continue
        above = nearest.get(id(reading))
        if above is not None and _is_same_execution(above, reading):
            reading.is_part = True
        else:
            found.append(reading)
    for reading in reversed(tree.readings):
        if reading.operation == "tool" and reading.is_part:
            _complete_execution(nearest[id(reading)], reading)
    return found


def _is_same_execution(outer: NormalizedSpan, inner: NormalizedSpan) -> bool:
    if outer.operation != "tool" or not is_same_tool(outer.tool_name or "", inner.tool_name or ""):
        return False
    if outer.tool_call_id and inner.tool_call_id:
        return outer.tool_call_id == inner.tool_call_id
    if not (outer.has_arguments and inner.has_arguments):
        return True
    return same_arguments(outer.arguments, inner.arguments) or same_arguments(
        inner.arguments, outer.arguments
    )


def _complete_execution(outer: NormalizedSpan, inner: NormalizedSpan) -> None:
    for name in ("tool_call_id", "error_type", "error_message"):
        if getattr(outer, name) is None:
            setattr(outer, name, getattr(inner, name))
    if inner.has_arguments and not outer.has_arguments:
        outer.arguments, outer.has_arguments = inner.arguments, True
    if inner.has_result and not outer.has_result:
        outer.result, outer.has_result = inner.result, True


def _complete(outer: NormalizedSpan, inner: NormalizedSpan) -> None:
    """Fill what the outer span does not say from the inner one, in place.

    Of two counts the larger is right: an SDK may leave out the cached tokens that the other counts.
    """
    for name in (
        "provider",
        "request_model",
        "response_model",
        "response_id",
        "previous_response_id",
        "error_type",
        "error_message",
    ):
        if getattr(outer, name) is None:
            setattr(outer, name, getattr(inner, name))
    for name in ("system", "input", "output", "tool_definitions", "parameters", "finish_reasons"):
        if not getattr(outer, name):
            setattr(outer, name, getattr(inner, name))
    outer.stores_history = outer.stores_history or inner.stores_history
    outer.failed = outer.failed or inner.failed
    outer.tokens = TokenUsage(
        *(
            max((count for count in pair if count is not None), default=None)
            for pair in zip(_counts(outer.tokens), _counts(inner.tokens), strict=True)
        )
    )


def _counts(tokens: TokenUsage) -> tuple[int | None, int | None, int | None, int | None]:
    return (tokens.input, tokens.output, tokens.cached, tokens.reasoning)
