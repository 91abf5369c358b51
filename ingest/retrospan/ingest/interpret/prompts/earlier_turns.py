"""First prompts of a run that leave out the calls of earlier turns: completed by what the conversation's previous run came to.

A prompt that tells what a tool returned, and no call before it, leaves calls out. Where the conversation is stated, and the
prompt begins with all that its previous run had come to, message by message but for the calls, these stood there too. Who
is `unknown` in the prompt is a tool where that run knows it. Anything that is not told there, or told otherwise, and
nothing is completed.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.messages.message import Message, Part, parts_of, text_of
from retrospan.ingest.interpret.messages.tool_results import response_of
from retrospan.ingest.json_text import write_json

#: Who says what a tool returned; instrumentations call it unknown where they have no name for it.
_TOOLS = ("tool", "unknown")


def leaves_out_calls(prompt: Sequence[Message]) -> bool:
    """Tell whether a prompt tells what a tool returned, and an answer after it, and no call before it."""
    for place, message in enumerate(prompt):
        if parts_of(message, "tool_call"):
            return False
        if message["role"] in _TOOLS and _said(message) is not None:
            return any(later["role"] == "assistant" for later in prompt[place + 1 :])
    return False


def complete_earlier_turns(call: ModelCall, previous: Sequence[Message]) -> bool:
    """Give a run's first prompt what the previous run came to, in place, where it begins with all of this but the calls."""
    rest = _after(previous, call.input)
    if rest is None:
        return False
    call.input, call.history = [*previous, *rest], "inferred"
    return True


def _after(previous: Sequence[Message], prompt: Sequence[Message]) -> Sequence[Message] | None:
    """Return what a prompt says after all that a run came to; None where it does not begin with that."""
    at = 0
    for message in previous:
        said = prompt[at] if at < len(prompt) else None
        if parts_of(message, "tool_call"):
            text = text_of(message).strip()
            if not text:
                continue
            if said is None or said["role"] != "assistant" or _text_alone(said) != text:
                return None
        elif parts_of(message, "tool_call_response"):
            if said is None or not _is_result(said, message):
                return None
        elif said != message:
            return None
        at += 1
    return prompt[at:] if at < len(prompt) else None


def _text_alone(message: Message) -> str | None:
    return text_of(message).strip() if all(part["type"] == "text" for part in message["parts"]) else None


def _is_result(said: Message, known: Message) -> bool:
    """Tell whether a message says what a tool returned that is known."""
    part, result = _said(said), _said(known)
    if said["role"] not in _TOOLS or part is None or result is None:
        return False
    if "id" in part and part["id"] != result.get("id"):
        return False
    return write_json(response_of(_value(part))) == write_json(response_of(_value(result)))


def _said(message: Message) -> Part | None:
    """Return the only part of a message, where it is a text or a result."""
    parts = message["parts"]
    return parts[0] if len(parts) == 1 and parts[0]["type"] in ("text", "tool_call_response") else None


def _value(part: Part) -> object:
    return part.get("content") if part["type"] == "text" else part.get("response")
