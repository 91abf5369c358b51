"""Traces in which no attribute's name reveals a model call: the shape of the values shows that a model was at work.

Only where no span of a trace is known to be a model call. A span of no known kind that holds what a model was asked, and what it answered, is a model
call; one that holds a whole transcript, in one value or event by event, is an agent. A model, or tokens, must be told
beside it: people keep transcripts as well, and a program that only stores one asked nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from retrospan.ingest.interpret.messages.message_cache import PrefixCache
from retrospan.ingest.interpret.messages.provider_payloads import parse_request
from retrospan.ingest.interpret.messages.response_usage import parse_usage
from retrospan.ingest.interpret.normalize.general import read_span
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.exchange import (
    request_by_shape,
    response_by_shape,
    transcript_by_shape,
)
from retrospan.ingest.interpret.spans.facts import EXCEPTIONS
from retrospan.ingest.interpret.spans.name_words import words_of
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.small_shapes import usage_by_shape
from retrospan.ingest.interpret.spans.span import Attributes, Span
from retrospan.ingest.interpret.spans.span_fields import whole
from retrospan.ingest.interpret.spans.vocabulary import Vocabulary

#: One of these is in every span that holds messages, or a response; and how short none of them is.
_MARKS = ("role", "ontent", "essage")
_SHORTEST = 20
#: How the names end of the only text that a model was given, and of the only one that it answered.
_GIVEN = re.compile(
    r"(?i)(?:^|[._:/-])(?:prompt|input|request|question|query|in)(?:[._](?:text|content|value))?\Z"
)
_ANSWERED = re.compile(
    r"(?i)(?:^|[._:/-])(?:completion|output|response|answer|reply|result|out)(?:[._](?:text|content|value))?\Z"
)
_MODELS = ("assistant", "model", "ai")
#: Kinds of spans that may tell of model calls which have no span of their own; the first may be one.
_MAY_TELL = ("other", "agent", "workflow")
#: What the name of a count of tokens says.
_OF_TOKENS = frozenset(("input tokens", "output tokens", "input usage", "output usage"))


@dataclass(frozen=True, slots=True)
class _Turn:
    """What a span tells of a turn: the prompt it began with, and all that was said; the responses, where they are apart."""

    given: Sequence[object]
    messages: Sequence[object]
    answers: Sequence[object]


def read_unnamed(
    spans: list[NormalizedSpan], problems: ParseIssues, growing: PrefixCache, names: Vocabulary
) -> None:
    """Read the spans of a trace as what their values show, where no name in it tells of a model call, in place."""
    if any(span.operation == "inference" for span in spans):
        return
    calls: list[int] = []
    turns: dict[int, _Turn] = {}
    telling = [
        (place, span)
        for place, span in enumerate(spans)
        if span.operation in _MAY_TELL and not span.states and _may_tell(span.sent)
    ]
    for place, span in telling:
        turn = _turn(span) if span.sent.events or span.sent.logs else None
        if turn is not None and (len(turn.answers) > 1 or span.operation != "other"):
            turns[place] = turn
        elif span.operation == "other" and (
            turn is not None or _is_call(span) or _is_plain_call(span.sent.attributes)
        ):
            calls.append(place)
    if not calls:
        unknown = [(place, span) for place, span in telling if span.operation == "other"]
        whole = {place: turn for place, span in unknown if (turn := _transcript(span)) is not None}
        turns = {**whole, **turns}
    around = _around([span.sent for span in spans], [spans[place].sent for place in (*calls, *turns)])
    for place in (*calls, *turns):
        sent = spans[place].sent
        if sent.span_id in around:
            continue
        if spans[place].operation == "other":
            kind = "agent" if place in turns else "inference"
            spans[place] = read_span(sent, problems, growing, names, kind)
        if _is_plain_call(sent.attributes):
            _read_plain(spans[place])
        if place in turns and not (spans[place].output or spans[place].framework_output):
            spans[place].framework_input = {"messages": [*turns[place].given]}
            spans[place].framework_output = {"messages": [*turns[place].messages]}


def _may_tell(sent: Span) -> bool:
    """Tell whether a span may be one of these: most end here, with a look at what their values hold."""
    attributes = sent.attributes
    if any(map(_is_marked, attributes.values())) or any("odel" in name for name in attributes):
        return True
    if not (sent.events or sent.logs):
        return False
    return any(any(map(_is_marked, said.values())) for said in _beside(sent))


def _is_marked(value: object) -> bool:
    """Tell whether a value may hold messages, a request or a response."""
    if isinstance(value, str):
        return len(value) >= _SHORTEST and any(mark in value for mark in _MARKS)
    return isinstance(value, (dict, list)) and bool(value)


def _is_call(span: NormalizedSpan) -> bool:
    """Tell whether a span holds a request to a model and the answer, or the failure."""
    fields, attributes = span.fields, span.sent.attributes
    request = request_by_shape(attributes)
    if request is None:
        return False
    response = response_by_shape(attributes)
    if response is None and not span.failed:
        response = fields.streamed
    if response is None:
        return span.failed and isinstance(request, Mapping) and _tells_model({}, request)
    # A message alone may be any that was kept: what was to be asked does not tell that it was the answer.
    told = (response,) if _says(response, _MODELS) else (request, response)
    return _tells_model(attributes, *told)


def _is_plain_call(attributes: Attributes) -> bool:
    """Tell whether a span says in plain texts what a model was asked and answered: it names the model and counts its tokens."""
    if not any("models" in words_of(name) for name, value in attributes.items() if value):
        return False
    if _plain(attributes, _GIVEN) is None or _plain(attributes, _ANSWERED) is None:
        return False
    words = {word for name, value in attributes.items() if whole(value) for word in words_of(name)}
    sides = {word.partition(" ")[0] for word in words & _OF_TOKENS}
    return len(sides) == 2 or usage_by_shape(attributes) is not None


def _read_plain(span: NormalizedSpan) -> None:
    """Read the texts that are all that a span says, in place."""
    given, answered = (_plain(span.sent.attributes, words) for words in (_GIVEN, _ANSWERED))
    if given is not None and not span.input:
        span.input = [{"role": "user", "parts": [{"type": "text", "content": given}]}]
    if answered is not None and not span.output:
        span.output = [{"role": "assistant", "parts": [{"type": "text", "content": answered}]}]


def _plain(attributes: Attributes, words: re.Pattern[str]) -> str | None:
    """Return the only text under a name that ends with one of some words; None where there are several, or none."""
    found = [
        value for name, value in attributes.items() if words.search(name) and isinstance(value, str) and value
    ]
    return found[0] if len(found) == 1 and found[0][:1] not in ("{", "[") else None


def _tells_model(attributes: Attributes, *values: object) -> bool:
    """Tell whether a model is named, or its tokens are counted, in some attributes or in what they hold."""
    for value in values:
        used = parse_usage(value)
        if used.input is not None or used.model is not None:
            return True
        if isinstance(value, Mapping) and isinstance(value.get("model"), str):
            return True
    return _counts_tokens(attributes) or any(
        "models" in words_of(name) for name, value in attributes.items() if value
    )


def _counts_tokens(attributes: Attributes) -> bool:
    """Tell whether the tokens of a model are counted."""
    return usage_by_shape(attributes) is not None or any(
        whole(value) and not _OF_TOKENS.isdisjoint(words_of(name)) for name, value in attributes.items()
    )


def _transcript(span: NormalizedSpan) -> _Turn | None:
    """Return the turn that one value tells: what follows the last words of a user in it."""
    listed = transcript_by_shape(span.sent.attributes)
    if not listed or not _counts_tokens(span.sent.attributes):
        return None
    asked = max((n for n, message in enumerate(listed) if _says(message, ("user", "human"))), default=-1)
    return _Turn(listed[: asked + 1], listed, ())


def _turn(span: NormalizedSpan) -> _Turn | None:
    """Return the turn that events and log records tell, if each request has its answer before the next."""
    requests: list[object] = []
    answers: list[object] = []
    for said in _beside(span.sent):
        response = response_by_shape(said)
        if response is not None and len(answers) < len(requests):
            answers.append(response)
        elif response is None and (request := request_by_shape(said)) is not None:
            if len(answers) < len(requests):
                return None
            requests.append(request)
    if not answers or len(answers) != len(requests) or not _tells_model({}, *requests, *answers):
        return None
    return _Turn(_prompt(requests[0]), [*_messages(requests, answers)], answers)


def _beside(sent: Span) -> Iterator[Attributes]:
    """Yield what events and log records say, in the order of time: none of those that tell of an exception."""
    told: list[tuple[int, int, Attributes]] = [
        (event.time_ns, place, event.attributes)
        for place, event in enumerate(sent.events)
        if event.name not in EXCEPTIONS
    ]
    for place, record in enumerate(sorted(sent.logs, key=lambda record: record.order)):
        if record.event not in EXCEPTIONS:
            body = {"body": record.body} if record.body else {}
            told.append((record.time_ns, place, {**body, **record.attributes}))
    for _, _, said in sorted(told, key=lambda each: each[:2]):
        yield said


def _prompt(request: object) -> list[object]:
    """Return the messages of a request."""
    if isinstance(request, Mapping):
        request = next((request[key] for key in ("messages", "contents", "input") if key in request), ())
    return request if isinstance(request, list) else [{"role": "user", "content": request}]


def _messages(requests: Sequence[object], answers: Sequence[object]) -> Iterator[object]:
    """Yield the last prompt with the last answer behind it; each answer with what its response counts."""
    listed = _prompt(requests[-1])
    answered = [place for place, each in enumerate(listed) if _says(each, _MODELS)]
    earlier = answers[:-1]
    own = dict(zip(answered[len(answered) - len(earlier) :], earlier, strict=False))
    system = parse_request(requests[-1]).system
    if system and not any(_says(each, ("system", "developer")) for each in listed):
        yield {"role": "system", "parts": system}
    for place, message in enumerate(listed):
        is_told = place in own and len(answered) >= len(earlier)
        yield _counted(message, own[place]) if is_told else message
    yield _counted(_answer(answers[-1]), answers[-1])


def _says(message: object, roles: Sequence[str]) -> bool:
    return isinstance(message, Mapping) and (message.get("role") or message.get("type")) in roles


def _answer(response: object) -> object:
    """Return the message in a response."""
    for _ in range(4):
        if not isinstance(response, Mapping) or _says(response, _MODELS):
            break
        listed = next((response[key] for key in ("choices", "candidates") if response.get(key)), None)
        response = listed[0] if isinstance(listed, list) else response.get("message", response.get("content"))
    return response


def _counted(message: object, response: object) -> object:
    """Return a message with the model and the tokens of the response that it came in."""
    if not isinstance(message, Mapping) or not isinstance(response, Mapping):
        return message
    beside = {
        key: response[key] for key in ("model", "usage", "usageMetadata", "modelVersion") if key in response
    }
    return {**message, **beside}


def _around(spans: Sequence[Span], inner: Sequence[Span]) -> set[str]:
    """Return the ids of spans that have one of some others below them."""
    above = {span.span_id: span.parent_span_id for span in spans}
    found: set[str] = set()
    for span in inner:
        at = span.parent_span_id
        while at and at not in found and at in above:
            found.add(at)
            at = above[at]
    return found
