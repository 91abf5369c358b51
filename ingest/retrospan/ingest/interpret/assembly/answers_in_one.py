"""One span whose answer tells several: between them stand the results of the tools that they asked for.

No model returns what a tool returned: a client that runs the tools and asks again tells all answers as one. Each is that of a
request, which was given what stands before it. What the span counts is of all of them, how it ended of the last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.message import Message, parts_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan

#: What only the last answer is known to have.
_OF_THE_LAST = ("response_model", "response_id", "finish_reasons", "failed", "error_type", "error_message")


def open_answers(tree: Tree) -> None:
    """Add the requests that one span's answer tells of to a run, inside that span, in place."""
    holding = {
        span: answers
        for span in tree.spans
        if span.operation == "inference"
        and not span.is_told
        and len(span.output) > 2
        and len(answers := _answers(span.output)) > 1
    }
    if not holding:
        return
    around = tree.around(span for span in tree.spans if span.operation == "inference")
    ended = {
        span.tool_call_id: span.sent.ended_at
        for span in tree.spans
        if span.operation == "tool" and span.tool_call_id
    }
    told: list[tuple[NormalizedSpan, NormalizedSpan]] = []
    for span, answers in holding.items():
        if span not in around:
            span.operation, span.holds_requests = "step", True
            told += ((span, request) for request in _requests(span, answers, ended))
    tree.add(told)


def _answers(said: Sequence[Message]) -> list[slice]:
    """Return where the answers stand in what one span returned; none where a result is not that of a call before it."""
    asked: set[str | None] = set()
    found: list[slice] = []
    begun, place = 0, 0
    for place, message in enumerate(said):
        returned = {part.get("id") for part in parts_of(message, "tool_call_response")}
        if message["role"] != "tool":
            if message["role"] != "assistant" or returned:
                return []
        elif not returned or not returned <= asked:
            return []
        elif begun < place:
            found.append(slice(begun, place))
        if message["role"] == "tool":
            begun = place + 1
        asked |= {call_id for part in parts_of(message, "tool_call") if (call_id := part.get("id"))}
    return [*found, slice(begun, place + 1)] if begun <= place else []


def _requests(
    span: NormalizedSpan, answers: Sequence[slice], ended: Mapping[str, int]
) -> Iterator[NormalizedSpan]:
    """Yield a request for each answer, no earlier than the tools ended whose results it was given."""
    at, after = span.sent.started_at, 0
    for answer in answers:
        for message in span.output[after : answer.start]:
            at = max(at, *(ended.get(part.get("id") or "", 0) for part in message["parts"]))
        after = answer.stop
        request = NormalizedSpan(
            sent=replace(span.sent, started_at=at, ended_at=0),
            operation="inference",
            dialect=span.dialect,
            names=span.names,
            agent_name=span.agent_name,
            conversation=span.conversation,
            provider=span.provider,
            request_model=span.request_model,
            parameters=span.parameters,
            system=span.system,
            # What is left of a prompt whose beginning nobody tells is not what the model was given.
            input=[*span.input, *span.output[: answer.start]] if span.input else [],
            output=span.output[answer],
            tool_definitions=span.tool_definitions,
            is_told=True,
            is_of_several=True,
        )
        if answer is answers[-1]:
            for name in _OF_THE_LAST:
                setattr(request, name, getattr(span, name))
        yield request
