"""Calls that were asked for and of which a later prompt says that they never ran."""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.calls.calls import ModelCall, RequestedCall
from retrospan.ingest.interpret.messages.message import parts_of

#: How names end under which a message has the id of the call that it answers.
_ANSWERED = ("tool_call_id", "toolCallId", "tool_use_id")


def later_calls(asked: RequestedCall, models: Sequence[ModelCall]) -> list[ModelCall]:
    """Return the model calls that the agent which asked made afterwards."""
    agent = models[asked.by - 1].span.agent_name
    return [call for call in models[asked.by :] if call.span.agent_name == agent]


def is_repeated(asked: RequestedCall, later: Sequence[ModelCall], asking: ModelCall) -> bool:
    """Tell whether the next prompt, as it was sent, repeats the call: as its result is nowhere, there was none to tell.

    A call without an id is never ruled out: its result may stand there without one as well. Nor is one where a result
    without an id stands there, or where a message is said to answer it of which nothing else was sent; nor where another
    call of the same answer has its result there: APIs want all of them, and instrumentations may tell one in the place of
    several.
    """
    if asked.call_id is None or not later:
        return False
    sent = later[0].span.sent.attributes
    if any(said == asked.call_id and name.endswith(_ANSWERED) for name, said in sent.items()):
        return False
    told = [part for message in later[0].span.input for part in message["parts"]]
    beside = [part.get("id") for message in asking.span.output for part in parts_of(message, "tool_call")]
    answered = [part.get("id") for part in told if part["type"] == "tool_call_response"]
    if any(call_id is None or call_id in beside for call_id in answered):
        return False
    return any(part["type"] == "tool_call" and part.get("id") == asked.call_id for part in told)
