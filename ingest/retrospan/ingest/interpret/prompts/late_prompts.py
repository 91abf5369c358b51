"""Prompts that were written down after their answers: a program goes on with its list of messages, and the instrumentation
writes it out later, when it holds what was answered and all that came of it.

A prompt cannot hold the calls that its own answer asked for, with their ids. Where it does, and the next prompt of the
agent holds no more, it ends before that answer; so does a prompt just like it with an answer in text that stands after the
one before.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.messages.message import Message, parts_of, text_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan


def cut_late_prompts(requests: Sequence[NormalizedSpan]) -> None:
    """End the prompts of the requests of a run, which are in order, before their own answers, in place."""
    own: dict[str | None, list[NormalizedSpan]] = {}
    for span in requests:
        own.setdefault(span.agent_name, []).append(span)
    for spans in own.values():
        told = [span.input for span in spans]
        before: list[Message] = []
        end = -1  # where the last prompt was cut
        for place, (span, given) in enumerate(zip(spans, told, strict=True)):
            later = told[place + 1] if place + 1 < len(told) else None
            is_late = later is not None and bool(later) and _begins(given, later)
            goes_on = end >= 0 and _begins(given, before)
            end = (
                _place_of(span.output, given, end + 1 if goes_on else 0, goes_on)
                if is_late or goes_on
                else -1
            )
            if end >= 0:
                span.input, before = given[:end], given


def _begins(whole: Sequence[Message], start: Sequence[Message]) -> bool:
    return len(start) <= len(whole) and whole[: len(start)] == start


def _place_of(answer: Sequence[Message], prompt: Sequence[Message], start: int, goes_on: bool) -> int:
    """Return where a prompt holds an answer, -1 where it does not or it is not known where."""
    calls = _calls(answer)
    if calls:
        # Some APIs count ids anew in each answer: what was asked for tells these apart.
        places = [place for place, message in enumerate(prompt) if _calls([message]) == calls]
        return places[0] if len(places) == 1 and places[0] >= start and all(call[0] for call in calls) else -1
    text = "\n".join(map(text_of, answer))
    fitting = (
        place
        for place in range(start, len(prompt))
        if prompt[place]["role"] == "assistant"
        and text_of(prompt[place]) == text
        and not _calls([prompt[place]])
    )
    return next(fitting, -1) if goes_on and text and not calls else -1


def _calls(messages: Sequence[Message]) -> list[tuple[str, str, object]]:
    return [
        (part.get("id", ""), part.get("name", ""), part.get("arguments") or {})
        for each in messages
        for part in parts_of(each, "tool_call")
    ]
