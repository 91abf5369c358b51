"""Merging what different places record about a call or its result: parts of the same messages complete each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from retrospan.ingest.interpret.messages.message import Message, Part, parts_of

#: How a value says that a tool failed; only text that says so is worth parsing for it.
_FAILED = re.compile(r"""(?:status["'\\]*\s*[:=]\s*["'\\]*error|is_?[Ee]rror["'\\]*\s*[:=]\s*[Tt]rue)""")

_ACTS = ("tool_call", "tool_call_response")


def has_gaps(messages: Sequence[Message]) -> bool:
    """Tell whether there is a call or a result without its id, or a call without arguments."""
    for message in messages:
        for part in message["parts"]:
            if part["type"] in _ACTS and ("id" not in part or _lacks_arguments(part)):
                return True
    return False


def has_results(messages: Sequence[Message]) -> bool:
    """Tell whether there is a result of a tool."""
    for message in messages:
        for part in message["parts"]:
            if part["type"] == "tool_call_response":
                return True
    return False


def lacks_results(messages: Sequence[Message]) -> bool:
    """Tell whether of the calls that one message asks for some are answered right after it, and others are not."""
    waiting: set[str] = set()
    answered = False
    for message in messages:
        results = [part["id"] for part in parts_of(message, "tool_call_response") if "id" in part]
        if not results:
            if waiting and answered:
                return True
            waiting = {part["id"] for part in parts_of(message, "tool_call") if "id" in part}
        answered = bool(results)
        waiting.difference_update(results)
    return bool(waiting) and answered


def may_tell_failures(value: object) -> bool:
    """Tell whether a value could say of a result that it is an error."""
    return isinstance(value, str) and "rror" in value and _FAILED.search(value) is not None


def is_fuller(other: Sequence[Message], messages: Sequence[Message]) -> bool:
    """Tell whether another version has everything that the messages have, in their order, and more."""
    rest = iter(other)
    return len(_parts(other)) > len(_parts(messages)) and all(
        any(each["role"] == message["role"] and _are_among(message["parts"], each["parts"]) for each in rest)
        for message in messages
    )


def agree(messages: Sequence[Message], other: Sequence[Message]) -> bool:
    """Tell whether one of two tellings of an answer says nothing that the other does not say."""
    fewer, more = sorted((_parts(messages), _parts(other)), key=len)
    return _are_among(fewer, more)


def completed(messages: Sequence[Message], other: Sequence[Message]) -> list[Message]:
    """Return the messages with the ids, arguments and errors that another version of the same acts has.

    Acts are the same in the same order: a call by name and arguments, a result by its content, and by the id where both
    have one. A call without arguments is the one with its id. What does not fit is left as it is.
    """
    waiting = list(_acts(other))
    return [_completed(message, waiting) for message in messages]


def answered_once(messages: Iterable[Message]) -> list[Message]:
    """Return the messages without results that appear twice in a row: in a tool message, and in a user message.

    If one of the two says that it is an error, it is.
    """
    messages = [*messages]
    told_in_tools = [message["parts"] for message in messages if message["role"] == "tool"]
    ids = [part["id"] for parts in told_in_tools for part in parts if part["type"] in _ACTS and "id" in part]
    if len({*ids}) == len(ids):
        return messages
    whole: list[Message] = []
    told: list[Part] = []
    row = 0
    for message in messages:
        if message["role"] != "tool":
            told = []
            whole.append(message)
            row = len(whole)
            continue
        if not told:
            told = [*message["parts"]]
            whole.append(message)
            continue
        again = [part for part in message["parts"] if any(_is_same(part, each) for each in told)]
        new = [part for part in message["parts"] if part not in again]
        if any("is_error" in part for part in again):
            whole[row:] = completed(whole[row:], [{"role": "tool", "parts": again}])
        told += new
        if new:
            whole.append(message if not again else {**message, "parts": new})
    return whole


def _parts(messages: Iterable[Message]) -> list[Part]:
    return [part for message in messages for part in message["parts"]]


def _are_among(parts: Iterable[Part], others: Sequence[Part]) -> bool:
    return all(any(part == each or _is_act(part, each) for each in others) for part in parts)


def _acts(messages: Iterable[Message]) -> Iterator[Part]:
    for message in messages:
        yield from (part for part in message["parts"] if part["type"] in _ACTS)


def _completed(message: Message, waiting: list[Part]) -> Message:
    parts = [_with(part, waiting) for part in message["parts"]]
    if all(part is before for part, before in zip(parts, message["parts"], strict=True)):
        return message
    return {**message, "parts": parts}


def _with(part: Part, waiting: list[Part]) -> Part:
    """Return a part with what the next of those that wait, if it is the same act, has more."""
    place = next((place for place, other in enumerate(waiting) if _is_act(part, other)), None)
    if place is None:
        return part
    other = waiting[place]
    del waiting[: place + 1]
    # The keys in the order in which a part is read, for equal texts of equal parts.
    if "id" in other and "id" not in part:
        part = cast("Part", {"type": part["type"], "id": other["id"], **part})
    if _lacks_arguments(part) and not _lacks_arguments(other):
        part = {**part, "arguments": other.get("arguments")}
    if "is_error" in other and "is_error" not in part:
        part = {**part, "is_error": True}
    return part


def _is_act(part: Part, other: Part) -> bool:
    if part["type"] != other["type"] or ("id" in part and "id" in other and part["id"] != other["id"]):
        return False
    if part["type"] == "tool_call":
        is_known = part.get("arguments") == other.get("arguments") or (
            "id" in part and "id" in other and (_lacks_arguments(part) or _lacks_arguments(other))
        )
        return part.get("name") == other.get("name") and is_known
    return part["type"] == "tool_call_response" and part.get("response") == other.get("response")


def _lacks_arguments(part: Part) -> bool:
    return part["type"] == "tool_call" and part.get("arguments") is None


def _is_same(part: Part, told: Part) -> bool:
    return bool(part.get("id")) and part.get("id") == told.get("id") and _is_act(part, told)
