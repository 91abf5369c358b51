"""Requests that only the events of one span tell: in each event a whole prompt, one attribute per leaf, or the answer to it.

A span around a loop may have such events for every request. Where no span inside it is a request itself, each event with a
prompt is one, with the answer of the next event that has one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from retrospan.ingest.interpret.messages.message_cache import PrefixCache
from retrospan.ingest.interpret.normalize.general import read_span
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Attributes, Event
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.schemas import semconv

#: How events tell the first message of a prompt, and the first choice of an answer, as chat APIs call them.
_ASKED, _ANSWERED = "messages.0.role", "choices.0.message.role"
#: Messages and choices, under the names that the conventions had for messages with numbers.
_RENAMED = (
    (re.compile(r"\Amessages\.(?=\d)"), f"{semconv.PROMPT}."),
    (re.compile(r"\Achoices\.(\d+)\.message\."), rf"{semconv.COMPLETION}.\1."),
    (re.compile(r"(?<=\d)\.gen_ai\.tool\.call\.id\Z"), ".tool_call_id"),
    (re.compile(r"(\.tool_calls\.\d+)\.tool_call_id\Z"), r"\1.id"),
)


def open_events(tree: Tree) -> None:
    """Add the requests that events tell to a run, each with the span that has the events, in place."""
    holding = [span for span in tree.spans if span.sent.events and any(map(_asks, span.sent.events))]
    if not holding:
        return
    around = tree.around(span for span in tree.spans if span.operation == "inference" and span not in holding)
    told: list[tuple[NormalizedSpan, NormalizedSpan]] = []
    for span in holding:
        if span not in around:
            told += ((span, request) for request in _requests(span))
            span.operation = "step" if span.operation == "inference" else span.operation
    tree.add(told)


def _asks(event: Event) -> bool:
    return _ASKED in event.attributes


def _requests(span: NormalizedSpan) -> Iterator[NormalizedSpan]:
    """Yield a request for each prompt, in order; one that nothing answers failed, if the span did and no other follows."""
    events = sorted(span.sent.events, key=lambda event: event.time_ns)
    asking = [place for place, event in enumerate(events) if _asks(event)]
    for place, following in zip(asking, [*asking[1:], len(events)], strict=True):
        answers = [event for event in events[place:following] if _ANSWERED in event.attributes]
        asked = events[place]
        attributes = dict(_plain(asked.attributes, semconv.REQUEST_MODEL))
        for answer in answers[:1]:
            attributes |= dict(_plain(answer.attributes, semconv.RESPONSE_MODEL))
            attributes[semconv.RESPONSE_ID] = answer.attributes.get("id")
        sent = replace(
            span.sent,
            attributes={name: value for name, value in attributes.items() if value is not None},
            started_at=asked.time_ns,
            ended_at=answers[0].time_ns if answers else 0,
            events=[],
            logs=[],
            status="unset",
            status_message="",
        )
        request = read_span(sent, ParseIssues(), PrefixCache(), span.names, "inference")
        request.agent_name, request.is_told, request.dialect = span.agent_name, True, span.dialect
        if not answers and span.failed and following == len(events):
            request.failed, request.error_type, request.error_message = (
                True,
                span.error_type,
                span.error_message,
            )
        yield request


def _plain(attributes: Attributes, model: str) -> Iterator[tuple[str, object]]:
    """Yield the attributes of an event under the names by which those of a request are known."""
    for name, value in attributes.items():
        if name == "model":
            yield model, value
        elif name[:7] in ("gen_ai.", "message", "choices"):
            for pattern, plain in _RENAMED:
                name = pattern.sub(plain, name)
            yield name, value
