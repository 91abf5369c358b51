"""Calls of which only the result was sent: a prompt continues an answer with the result of a call that no answer contains.

Some instrumentations tell an answer of a text and calls as its text alone, and leave the calls out of prompts. That the
answer before it asked for something, and that this ran, the id of the result proves; which tool it was, and with which
arguments, nothing says. Where an execution is known that no answer asked for, the result may be its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.interpret.calls.calls import Calls, RequestedCall, ToolCall, messages_once
from retrospan.ingest.interpret.calls.retelling import Retelling
from retrospan.ingest.interpret.messages.message import parts_of
from retrospan.ingest.interpret.messages.tool_results import told_error


def find_untold_calls(calls: Calls, retelling: Retelling) -> Iterator[ToolCall]:
    """Yield the calls, without a name, whose results prompts tell after answers in which no call is read."""
    found = {
        call.ordinal: results
        for place, call in enumerate(calls.models)
        if (results := [part for part in retelling.unasked(place) if "id" in part])
    }
    if not found or any(tool.asked is None for tool in calls.tools):
        return
    known = {tool.call_id for tool in calls.tools}
    known.update(
        part.get("id")
        for _, message in messages_once(calls.models)
        for part in parts_of(message, "tool_call")
    )
    for ordinal, results in found.items():
        for part in results:
            call_id = part["id"]
            if call_id in known:
                continue
            known.add(call_id)
            asked = RequestedCall(ordinal, call_id, "", None, taken=True)
            tool = ToolCall(name="", span=None, asked=asked, call_id=call_id)
            if "response" in part:
                tool.result, tool.result_source = part.get("response"), "message"
            tool.status = "error" if "is_error" in part or told_error(tool.result) is not None else "ok"
            yield tool
