"""Prompts in which nobody but the user speaks, and which repeat what the model and its tools said: who spoke is not known.

An instrumentation that has one role for every message says nothing with it. It shows where a prompt goes on from an earlier
one of the same agent, and the next message is the answer to that, or one after it what a tool returned in between. What
stands between a prompt and what such a tool returned is the text before its call: the model's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from retrospan.ingest.interpret.messages.message import Message, text_of
from retrospan.ingest.interpret.messages.tool_results import response_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.pairing.answering_tools import returned, text_in
from retrospan.ingest.json_text import write_json

#: Who speaks where nobody says it.
_UNKNOWN = "unknown"
#: A shorter text may be said by anybody.
_SHORTEST = 8
#: Pairs of prompts among which one has to repeat something, and executions between two.
_LOOKED_AT, _MOST = 20, 20


class _GoingOn(NamedTuple):
    """A prompt that goes on from the one before, and what is new in it."""

    before: NormalizedSpan
    after: NormalizedSpan
    new: list[Message]


def forget_speakers(requests: Sequence[NormalizedSpan], executed: Sequence[NormalizedSpan]) -> None:
    """Say that it is not known who speaks in the prompts of such an instrumentation, in place; empty texts of nobody go."""
    of_scopes: dict[str, list[NormalizedSpan]] = {}
    for span in requests:
        if span.input:
            of_scopes.setdefault(span.sent.scope, []).append(span)
    for spans in of_scopes.values():
        pairs = [*_going_on(spans)] if len(spans) > 1 and all(map(_is_of_users, spans)) else []
        if not any(_is_repeated(pair, executed) for pair in pairs[:_LOOKED_AT]):
            continue
        answers: dict[str | None, set[int]] = defaultdict(set)
        for pair in pairs:
            if _begins_with_text(pair, executed):
                answers[pair.after.agent_name].add(len(pair.before.input))
        for span in spans:
            told = answers[span.agent_name]
            span.input = [
                {**said, "role": "assistant" if place in told else _UNKNOWN}
                for place, said in enumerate(span.input)
                if text_of(said)
            ]


def _is_of_users(span: NormalizedSpan) -> bool:
    return all(
        message["role"] == "user" and all(part["type"] == "text" for part in message["parts"])
        for message in span.input
    )


def _going_on(spans: Sequence[NormalizedSpan]) -> Iterator[_GoingOn]:
    """Yield prompts that go on from the one before."""
    for before, after in pairwise(spans):
        size = len(before.input)
        if (
            before.agent_name == after.agent_name
            and before.sent.done_at <= after.sent.started_at
            and size < len(after.input)
            and after.input[:size] == before.input
        ):
            yield _GoingOn(before, after, after.input[size:])


def _is_repeated(pair: _GoingOn, executed: Sequence[NormalizedSpan]) -> bool:
    """Tell whether a prompt repeats as words of the user what was answered, or returned, before it."""
    answer = "\n".join(map(text_of, pair.before.output)).strip()
    if len(answer) >= _SHORTEST and text_in(pair.new[0]).strip() == answer:
        return True
    between = _between(pair, executed)
    return any(_is_of(message, between) for message in pair.new) or (
        len(pair.new) == len(between) and all(map(_is_just, pair.new, between))
    )


def _begins_with_text(pair: _GoingOn, executed: Sequence[NormalizedSpan]) -> bool:
    """Tell whether what is new begins with a text that stood before a call, and then what that returned."""
    between = _between(pair, executed)
    return (
        len(pair.new) > 1
        and bool(text_in(pair.new[0]))
        and not _is_of(pair.new[0], between)
        and _is_of(pair.new[1], between)
    )


def _between(pair: _GoingOn, executed: Sequence[NormalizedSpan]) -> list[NormalizedSpan]:
    first, last = pair.before.sent.started_at, pair.after.sent.started_at
    return [tool for tool in executed if first <= tool.sent.started_at and tool.sent.done_at <= last][:_MOST]


def _is_just(message: Message, tool: NormalizedSpan) -> bool:
    """Tell whether a text is the JSON that an execution returned, however short: nobody says `[]` to an agent."""
    text = text_in(message)
    return (
        text[:1] in ("[", "{")
        and tool.has_result
        and write_json(response_of(text)) == write_json(response_of(tool.result))
    )


def _is_of(message: Message, tools: Sequence[NormalizedSpan]) -> bool:
    text = text_in(message)
    return len(text) >= _SHORTEST and any(returned(tool, text) for tool in tools)
