"""One span for all requests of a loop: the tools that ran within its time tell how many there were.

A function that asks a model, runs the tools, and asks again is told by some frameworks as one request: with the first prompt,
or with the last one, which retells the answers before it, and with the tokens and the end of the last answer. A model is
asked once more after each round of tools; of the answers in between only the calls are known, by their executions, where no
prompt retells them. Tools that ran at the same time were asked for together.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from retrospan.ingest.interpret.messages.finish_reasons import FOR_TOOLS
from retrospan.ingest.interpret.messages.message import Message, Part, parts_of
from retrospan.ingest.interpret.messages.provider_payloads import parse_answer
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.interpret.unfolding.kept_turns import KeptTurn, kept_turns, turn_of
from retrospan.ingest.interpret.unfolding.told_requests import told_request

_AROUND = ("agent", "workflow")


def open_loops(tree: Tree) -> None:
    """Put the requests that a span holds into its place, in place.

    Only where nothing else can have asked for the tools: each request of the run is such a span, no two of one agent at the
    same time, and the answer that it tells, if it tells any, asks for none and did not end for one. What a program keeps of
    the turn tells the rest.
    """
    requests = [span for span in tree.spans if span.operation == "inference"]
    ran = [span for span in tree.spans if span.operation == "tool"] if requests else []
    if not ran or any(span.is_told or not span.input for span in requests) or not _take_turns(requests):
        return
    began = [tool.sent.started_at for tool in ran]
    begun: list[Sequence[NormalizedSpan]] = []
    for span in requests:
        first, last = bisect_right(began, span.sent.started_at), bisect_left(began, span.sent.ended_at)
        if last <= first:
            return
        begun.append(ran[first:last])
    agents = tree.nearest(lambda span: span.operation in _AROUND)
    holding = {}
    for span, tools in zip(requests, begun, strict=True):
        rounds = _rounds(span, [tool for tool in tools if agents.get(tool) is agents.get(span)])
        if not rounds:
            return
        holding[span] = rounds
    turns = kept_turns(tree.spans)
    told: list[tuple[NormalizedSpan, NormalizedSpan]] = []
    for span, rounds in holding.items():
        kept = turn_of(turns, [tool.tool_call_id or "" for tools in rounds for tool in tools])
        answer = span.output
        if not answer and not span.failed and span is requests[-1]:
            answer = _returned(tree.parent(span))
        told += ((span, call) for call in _requests(span, rounds, kept or KeptTurn(), answer))
        span.operation, span.holds_requests = "step", kept is None
    tree.add(told)


def _take_turns(requests: Sequence[NormalizedSpan]) -> bool:
    return all(before.sent.done_at <= after.sent.started_at for before, after in pairwise(requests))


def _rounds(span: NormalizedSpan, begun: Sequence[NormalizedSpan]) -> list[list[NormalizedSpan]]:
    """Return the tools that ran within a span, of those that began in its time, by the answer that asked for them; none
    where it may be one request."""
    if any(map(FOR_TOOLS.search, span.finish_reasons)) or any(
        parts_of(message, "tool_call") for message in span.output
    ):
        return []
    inside = [tool for tool in begun if tool.sent.started_at <= tool.sent.ended_at < span.sent.ended_at]
    if not all(tool.tool_call_id and tool.has_arguments and tool.tool_name for tool in inside):
        return []
    rounds: list[list[NormalizedSpan]] = []
    until = 0
    for tool in inside:
        if tool.sent.started_at <= until:
            rounds[-1].append(tool)
        else:
            rounds.append([tool])
        until = max(until, tool.sent.ended_at)
    return rounds


def _requests(
    span: NormalizedSpan,
    rounds: Sequence[Sequence[NormalizedSpan]],
    kept: KeptTurn,
    final: Sequence[Message],
) -> Iterator[NormalizedSpan]:
    """Yield the requests of a loop, each with all that was said before it; the last one with what the span tells of it."""
    said, at = [*span.input], span.sent.started_at
    retold = _retold(span.input, rounds)
    for place, tools in zip(retold, rounds, strict=False):
        yield _told(span, at, span.input[:place], [span.input[place]])
        at = max(tool.sent.ended_at for tool in tools)
    for tools in () if retold else rounds:
        texts = [text for tool in tools for text in kept.texts.get(tool.tool_call_id or "", ())]
        answer: Message = {"role": "assistant", "parts": [*texts, *map(_asking, tools)]}
        call = _told(span, at, said, [answer])
        call.is_unsaid = True
        yield call
        returned: list[Message] = [{"role": "tool", "parts": [_result(tool, kept)]} for tool in tools]
        said = [*said, answer, *returned]
        at = max(tool.sent.ended_at for tool in tools)
    last = _told(span, at, said, final)
    for name in (
        "response_model",
        "response_id",
        "finish_reasons",
        "tokens",
        "failed",
        "error_type",
        "error_message",
    ):
        setattr(last, name, getattr(span, name))
    yield last


def _retold(prompt: Sequence[Message], rounds: Sequence[Sequence[NormalizedSpan]]) -> list[int]:
    """Return where a prompt retells the answers that asked for the tools of each round, and nothing else asks for them; []
    where it is not the last one of these requests."""
    asked = {
        place: {part.get("id") for part in calls}
        for place, message in enumerate(prompt)
        if (calls := parts_of(message, "tool_call"))
    }
    asking: dict[str | None, list[int]] = {}
    for place, ids in asked.items():
        for call_id in ids:
            asking.setdefault(call_id, []).append(place)
    places: list[int] = []
    for tools in rounds:
        ids = {tool.tool_call_id for tool in tools}
        found = {place for call_id in ids for place in asking.get(call_id, ())}
        if len(found) != 1 or asked[max(found)] != ids:
            return []
        places += found
    return places if places == sorted(places) else []


def _told(
    span: NormalizedSpan, at: int, said: Sequence[Message], answer: Sequence[Message]
) -> NormalizedSpan:
    told = told_request(span, at, said, answer)
    told.is_of_several = True
    return told


def _returned(around: NormalizedSpan | None) -> list[Message]:
    """Return the text that the agent around a loop returned: that of its last answer."""
    if around is None or around.operation not in _AROUND:
        return []
    said = around.output or parse_answer(around.framework_output)
    return said if len(said) == 1 and not parts_of(said[0], "tool_call") else []


def _asking(tool: NormalizedSpan) -> Part:
    return {
        "type": "tool_call",
        "id": tool.tool_call_id or "",
        "name": tool.tool_name or "",
        "arguments": tool.arguments,
    }


def _result(tool: NormalizedSpan, kept: KeptTurn) -> Part:
    call_id = tool.tool_call_id or ""
    said = kept.returned.get(call_id, tool.result)
    part: Part = {"type": "tool_call_response", "id": call_id, "response": said}
    return {**part, "is_error": True} if tool.failed else part
