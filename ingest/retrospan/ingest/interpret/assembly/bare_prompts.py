"""Prompts that leave out the calls of the answers which they repeat, and tell results as bare texts: completed by these answers.

A prompt goes on from an earlier one of the same agent where it begins with all of it. What follows is the answer to the
earlier one without its calls, if it had a text, and then one text of a tool for each call, in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from retrospan.ingest.interpret.assembly.calls import ModelCall
from retrospan.ingest.interpret.normalize.message import Message, Part, parts_of, text_of
from retrospan.ingest.interpret.normalize.messages import response_of


def complete_prompts(calls: Sequence[ModelCall]) -> None:
    """Give prompts the calls and the results that they leave out, in place."""
    own: dict[str | None, list[tuple[ModelCall, list[Message]]]] = {}
    for call in calls:
        own.setdefault(call.span.agent_name, []).append((call, call.input))
    for told in own.values():
        for (before, given), (call, said) in pairwise(told):
            if len(given) < len(said) and said[: len(given)] == given:
                rest = _completed(before.span.output, said[len(given) :])
                if rest is not None:
                    call.input, call.history = [*before.input, *rest], "rebuilt"
                elif before.input is not given:
                    call.input, call.history = [*before.input, *said[len(given) :]], "rebuilt"


def _completed(answer: list[Message], rest: Sequence[Message]) -> list[Message] | None:
    """Return an answer, the results of its calls and what is said after them; None where these are not told barely."""
    asked = [part for message in answer for part in parts_of(message, "tool_call")]
    text = "".join(map(text_of, answer)).strip()
    after = rest[1:] if text else rest
    if not asked or (text and not _is_text(rest[0], "assistant", text)):
        return None
    results = [_result(message, part) for message, part in zip(after, asked, strict=False)]
    if len(results) < len(asked) or None in results:
        return None
    return [*answer, *(result for result in results if result is not None), *after[len(asked) :]]


def _is_text(message: Message, role: str, text: str | None = None) -> bool:
    """Tell whether a message of a role is nothing but a text, and just this one."""
    is_bare = message["role"] == role and all(part["type"] == "text" for part in message["parts"])
    return is_bare and text in (None, text_of(message).strip())


def _result(message: Message, asked: Part) -> Message | None:
    if not _is_text(message, "tool"):
        return None
    part: Part = {"type": "tool_call_response"}
    if "id" in asked:
        part["id"] = asked["id"]
    part["response"] = response_of(text_of(message))
    return {"role": "tool", "parts": [part]}
