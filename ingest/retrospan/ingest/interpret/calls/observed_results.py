"""What tools returned, where a framework tells its model calls and results as texts: the calls as they are printed, and what
they returned after the word that ReAct has for it.

The model asked for these calls by its API; the next prompt tells them by their ids in a text, and the message after that is
an observation. Of several calls it has one line for each, or nothing is known of which is whose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from retrospan.ingest.interpret.messages.message import Message, Part, parts_of, text_of
from retrospan.ingest.interpret.messages.message_parts import tool_response
from retrospan.ingest.interpret.messages.tool_results import result_in_text

_OBSERVED = re.compile(r"\s*Observations?:[ \t]*\n?")


def observed_results(asked: Sequence[Part], after: Sequence[Message]) -> list[Part]:
    """Return what each call of an answer returned, as the texts tell that follow it in a prompt; [] where they do not."""
    if len(after) < 2 or not asked or after[0]["role"] != "assistant" or parts_of(after[0], "tool_call"):
        return []
    printed, said = text_of(after[0]), _said(after[1])
    word = _OBSERVED.match(said)
    if word is None or not all(call.get("id") and call.get("id", "") in printed for call in asked):
        return []
    told = said[word.end() :]
    lines = [told] if len(asked) == 1 else told.splitlines()
    if len(lines) != len(asked):
        return []
    return [
        tool_response(call.get("id"), result_in_text(line), {})
        for call, line in zip(asked, lines, strict=True)
    ]


def _said(message: Message) -> str:
    """Return the text of a message, also one that a tool is told to have said."""
    results = parts_of(message, "tool_call_response")
    response = results[0].get("response") if len(results) == 1 == len(message["parts"]) else text_of(message)
    return response if isinstance(response, str) else ""
