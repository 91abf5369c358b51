"""One span whose answer tells several: between them stand the results of the tools that they asked for.

No model returns what a tool returned: a client that runs the tools and asks again tells all answers as one, or the last one with
those before it as its history. Each is that of a request, which was given what stands before it. How the span ended is of the
last one; what it counts is of all of them, or of the last one as well where the response is the API's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from retrospan.ingest.interpret.messages.alike_parts import ToldAnswers
from retrospan.ingest.interpret.messages.completion import agree
from retrospan.ingest.interpret.messages.message import Message, Part, parts_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.interpret.unfolding.told_requests import told_request

#: What only the last answer is known to have.
_OF_THE_LAST = ("response_model", "response_id", "finish_reasons", "failed", "error_type", "error_message")


def open_answers(tree: Tree) -> None:
    """Add the requests that one span's answer tells of to a run, inside that span, in place."""
    holding = {
        span: answers
        for span in tree.spans
        if span.operation == "inference"
        and not span.is_told
        and (span.retold or len(span.output) > 2)
        and len(answers := _answers(said_within(span), by_order=bool(span.retold))) > 1
    }
    if not holding:
        return
    around = _told_inside(tree, holding)
    ended = {
        span.tool_call_id: span.sent.ended_at
        for span in tree.spans
        if span.operation == "tool" and span.tool_call_id
    }
    ran = _ended_inside(tree, [span for span in holding if span.retold])
    told: list[tuple[NormalizedSpan, NormalizedSpan]] = []
    for span, answers in holding.items():
        if span not in around:
            span.operation, span.holds_requests = "step", True
            told += ((span, request) for request in _requests(span, answers, ended, ran.get(span, 0)))
    tree.add(told)


def _ended_inside(tree: Tree, retelling: Sequence[NormalizedSpan]) -> dict[NormalizedSpan, int]:
    """Return when the last of what ran inside of some spans ended: then their last request was made."""
    found: dict[NormalizedSpan, int] = {}
    inside = tree.nearest(set(retelling).__contains__) if retelling else {}
    for span, outer in inside.items():
        if span.sent.ended_at <= outer.sent.ended_at:
            found[outer] = max(found.get(outer, 0), span.sent.ended_at)
    return found


def _told_inside(tree: Tree, holding: Mapping[NormalizedSpan, Sequence[slice]]) -> set[NormalizedSpan]:
    """Return which of the spans have such requests inside. A tool may ask a model as well: where the response retells the
    rounds, only a request with one of its answers is one of its own."""
    inner = [span for span in tree.spans if span.operation == "inference"]
    nearest = tree.nearest(holding.__contains__)
    found = tree.around(span for span in inner if span not in nearest or not nearest[span].retold)
    said = {
        outer: ToldAnswers([whole[answer] for answer in answers])
        for outer, answers in holding.items()
        if outer.retold and (whole := said_within(outer))
    }
    for span in inner:
        outer = nearest.get(span)
        if outer is None or outer not in said or outer in found:
            continue
        if not span.output or said[outer].any_agrees(span.output):
            found.add(outer)
    return found


def said_within(span: NormalizedSpan) -> list[Message]:
    """Return what was said after the prompt of a span: the rounds that its response retells, and its answer, once."""
    asked = [place for place, message in enumerate(span.retold) if message["role"] == "assistant"]
    # A client that may ask no more gives back the answer whose calls it made.
    is_last = bool(asked) and bool(_calls(span.output)) and agree(span.output, [span.retold[asked[-1]]])
    return [*(span.retold[: asked[-1]] if is_last else span.retold), *span.output]


def _calls(said: Sequence[Message]) -> list[Part]:
    return [part for message in said for part in parts_of(message, "tool_call")]


def _answers(said: Sequence[Message], *, by_order: bool) -> list[slice]:
    """Return where the answers stand in what one span returned; none where a result is not that of a call before it. Results
    without ids are only taken where they are known `by_order`."""
    asked: set[str | None] = set()
    found: list[slice] = []
    begun, place = 0, 0
    for place, message in enumerate(said):
        returned = {part.get("id") for part in parts_of(message, "tool_call_response")}
        if message["role"] != "tool":
            if message["role"] != "assistant" or returned:
                return []
        elif not returned or not returned <= (asked | {None} if by_order else asked):
            return []
        elif begun < place:
            found.append(slice(begun, place))
        if message["role"] == "tool":
            begun = place + 1
        asked |= {call_id for part in parts_of(message, "tool_call") if (call_id := part.get("id"))}
    return [*found, slice(begun, place + 1)] if begun <= place else []


def _requests(
    span: NormalizedSpan, answers: Sequence[slice], ended: Mapping[str, int], ran: int
) -> Iterator[NormalizedSpan]:
    """Yield a request for each answer, no earlier than the tools ended whose results it was given; the last one after all that
    `ran`."""
    at, after, said = span.sent.started_at, 0, said_within(span)
    for answer in answers:
        for message in said[after : answer.start]:
            at = max(at, *(ended.get(part.get("id") or "", 0) for part in message["parts"]))
        if answer is answers[-1]:
            at = max(at, ran)
        after = answer.stop
        # What is left of a prompt whose beginning nobody tells is not what the model was given.
        given = [*span.input, *said[: answer.start]] if span.input else []
        request = told_request(span, at, given, said[answer])
        request.parameters, request.tool_definitions = span.parameters, span.tool_definitions
        request.is_of_several = True
        if answer is answers[-1]:
            for name in (*_OF_THE_LAST, "tokens") if span.counts_last else _OF_THE_LAST:
                setattr(request, name, getattr(span, name))
        yield request
