"""Who said the texts of a prompt that tells nobody: known from the first prompt of the run and from what was answered.

A prompt that begins with all texts of the run's first one goes on from it, and a text after those that is the text of an
answer given by then was said by the model, unless it stands there more often than it was answered: a user may have said
the same. Before anything was answered the last text is the user's. Of all others it
stays unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from retrospan.ingest.interpret.messages.message import Message, text_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan

_UNKNOWN = "unknown"


def name_speakers(requests: Sequence[NormalizedSpan]) -> None:
    """Say who speaks in the prompts of the requests of a run, which are in order, in place."""
    if not any(_is_untold(span) for span in requests):
        return
    first = requests[0]
    if _is_untold(first) and len(first.input) > 1:
        first.input = [*first.input[:-1], {**first.input[-1], "role": "user"}]
    known = [*_texts(first.system), *map(text_of, first.input)]
    answered: list[str] = []
    for span in requests:
        told = [*map(text_of, span.input)]
        goes_on = span.agent_name == first.agent_name and told[: len(known)] == known
        if span is not first and _is_untold(span) and goes_on:
            span.system, span.input = (
                first.system,
                [*first.input, *_named(span.input[len(known) :], answered)],
            )
        answered += filter(None, map(text_of, span.output))


def _is_untold(span: NormalizedSpan) -> bool:
    roles = {message["role"] for message in span.input}
    return _UNKNOWN in roles and roles <= {_UNKNOWN, "assistant"}


def _named(messages: Sequence[Message], answered: Sequence[str]) -> list[Message]:
    given, told = Counter(answered), Counter(map(text_of, messages))
    return [
        {**message, "role": "assistant"} if told[text] <= given[text] else message
        for message, text in zip(messages, map(text_of, messages), strict=True)
    ]


def _texts(parts: Sequence[object]) -> list[str]:
    said = (part.get("content") for part in parts if isinstance(part, dict))
    return [text for text in said if isinstance(text, str)]
