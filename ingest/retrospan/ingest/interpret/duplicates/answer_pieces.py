"""Spans of parts of an answer (a chunk of a stream, a call in it) that call themselves model calls, but are not.

What a model was asked stands on a span around them, and they tell neither a prompt nor a model nor tokens of their own:
only a part of what that span tells as the answer, or nothing.
"""

from __future__ import annotations

from retrospan.ingest.interpret.messages.message import Message, Part, parts_of, text_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Nearest, Tree

#: Of what a piece may be made.
_TYPES = {"text", "reasoning", "tool_call"}
#: How spans of one sort are told from others: by scope and name.
Sort = tuple[str, str]


def take_out_pieces(tree: Tree) -> None:
    """Let spans that tell a part of the answer of a request around them not be requests, in place.

    All spans of that name have to be such parts: one that tells a prompt or a failure is a request. What came after a tool
    had run is of another answer.
    """
    bare = {span for span in tree.spans if span.operation == "inference" and _tells_no_request(span)}
    if not bare:
        return
    around = tree.nearest(lambda span: span.operation == "inference" and span not in bare)
    sorts: dict[Sort, bool] = {}
    for span in tree.spans:
        if span.operation == "inference":
            sort = _sort(span)
            is_piece = span in bare and span in around and _is_piece(span, around[span])
            sorts[sort] = is_piece and sorts.get(sort, True)
    pieces = [span for span in tree.spans if span in bare and sorts[_sort(span)]]
    mixed = _answering_tools(tree, pieces, around) if pieces else set[Sort]()
    for span in pieces:
        if _sort(span) not in mixed:
            span.operation, span.is_part = "other", True


def _sort(span: NormalizedSpan) -> Sort:
    return (span.sent.scope, span.sent.name)


def _tells_no_request(span: NormalizedSpan) -> bool:
    return not (
        span.input
        or span.system
        or span.request_model
        or span.response_model
        or span.response_id
        or span.is_told
        or span.failed
        or (span.tokens.input, span.tokens.output) != (None, None)
    )


def _is_piece(span: NormalizedSpan, around: NormalizedSpan) -> bool:
    """Tell whether a span says nothing that the request around it does not say."""
    if not around.input:
        return False
    if not around.output:
        return around.is_unfinished or around.failed  # how it would have ended is not known
    told = "".join(map(text_of, around.output))
    calls = [part for message in around.output for part in parts_of(message, "tool_call")]
    return all(_is_told(part, told, calls) for message in span.output for part in message["parts"])


def _is_told(part: Part, told: str, calls: list[Part]) -> bool:
    if part["type"] == "text":
        return str(part.get("content", "")) in told
    if part["type"] == "tool_call":
        return any(_is_call(part, call) for call in calls)
    return part["type"] in _TYPES


def _is_call(part: Part, call: Part) -> bool:
    if "id" in part and "id" in call:
        return part["id"] == call["id"]
    return (part.get("name"), part.get("arguments")) == (call.get("name"), call.get("arguments"))


def _answering_tools(tree: Tree, pieces: list[NormalizedSpan], around: Nearest) -> set[Sort]:
    """Return the sorts of spans of which one says a text after a tool had run inside of the request around it."""
    saying = [span for span in pieces if any(map(_says_text, span.output))]
    holding = {around[span] for span in saying}
    nearest = tree.nearest(holding.__contains__) if holding else {}
    ran: dict[NormalizedSpan, int] = {}
    for span in tree.spans if nearest else ():
        if span.operation == "tool" and span in nearest and span.sent.ended_at:
            outer = nearest[span]
            ran[outer] = min(ran.get(outer, span.sent.ended_at), span.sent.ended_at)
    return {
        _sort(span) for span in saying if around[span] in ran and ran[around[span]] <= span.sent.started_at
    }


def _says_text(message: Message) -> bool:
    return bool(text_of(message))
