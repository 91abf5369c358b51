"""A response that holds its own history: the prompt, and after it calls and what they returned, round after round.

No model returns that. A client that runs the tools and asks again puts what was said meanwhile beside the last answer, as
Google's does. Where its span is around all of the requests nothing else tells of those before the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from retrospan.ingest.interpret.messages.completion import agree
from retrospan.ingest.interpret.messages.message import Message, parts_of
from retrospan.ingest.interpret.messages.provider_payloads import parse_request, told_value
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.exchange import RESPONSES
from retrospan.ingest.interpret.spans.span_fields import SpanFields

#: Only a value with one of these in it can tell what a tool returned.
_RESULTS = re.compile(
    r"(?i)function_?(?:call_?)?(?:response|output|result)|tool_?(?:call_?)?(?:response|output|result|id)"
)
#: One of these has every message; who speaks may be left out of the first.
_SAYING = ("role", "parts", "content")
_INSTRUCTING = ("system", "developer")


def take_rounds(places: SpanFields, span: NormalizedSpan) -> None:
    """Take the rounds of calls and results that a response tells beside its answer, in place."""
    for value in places.responses:
        if not isinstance(value, str) or not _RESULTS.search(value):
            continue
        response = told_value(places.read(value))
        if not isinstance(response, dict):
            continue
        for history in _histories(response):
            begins = _end_of_prompt(history, span.input)
            if begins and _are_rounds(history[begins:]):
                span.input = span.input or history[:begins]
                span.retold = history[begins:]
                # The client added to a response of the API; an object of its own may hold sums.
                span.counts_last = any(name in response for name in RESPONSES)
                return


def _histories(response: dict[str, object]) -> Iterator[list[Message]]:
    """Yield the lists of messages in a response that tell more than its answer."""
    for inner in response.values():
        if isinstance(inner, list) and len(inner) > 2 and all(map(_is_message, inner)):
            said = parse_request({"messages": inner}).messages
            yield [message for message in said if message["role"] not in _INSTRUCTING]


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and any(value.get(name) for name in _SAYING)


def _end_of_prompt(history: Sequence[Message], prompt: Sequence[Message]) -> int:
    """Return how many messages of a history are the prompt, 0 where it does not begin with it."""
    if not prompt:
        return max(
            (at for at, message in enumerate(history, start=1) if message["role"] == "user"), default=0
        )
    if len(history) <= len(prompt):
        return 0
    told = zip(history, prompt, strict=False)
    is_told = all(one["role"] == other["role"] and agree([one], [other]) for one, other in told)
    return len(prompt) if is_told else 0


def _are_rounds(said: Sequence[Message]) -> bool:
    """Tell whether messages are calls of a model and their results, in turn, and nothing else."""
    waiting: list[str | None] = []
    before = "tool"
    for message in said:
        role = message["role"]
        calls, results = parts_of(message, "tool_call"), parts_of(message, "tool_call_response")
        if role == "assistant" == before or role not in ("assistant", "tool"):
            return False
        if role == "assistant":
            waiting = [part.get("id") for part in calls]
        for part in results:
            call_id = part.get("id")
            place = waiting.index(call_id) if call_id in waiting else 0
            if not waiting or (call_id is not None and waiting[place] not in (call_id, None)):
                return False
            del waiting[place]
        if not (calls if role == "assistant" else results):
            return False
        before = role
    return len(said) > 1 and before == "tool" and said[0]["role"] == "assistant"
