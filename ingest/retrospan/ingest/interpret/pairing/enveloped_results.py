"""Results in envelopes, which a program makes around what its tools return: a prompt that tells just what is inside one
or just its blocks, says so: of that one, and of all of its form that no prompt contradicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retrospan.ingest.interpret.calls.calls import ToolCall
from retrospan.ingest.interpret.messages.message import Part
from retrospan.ingest.interpret.messages.result_envelopes import NOTHING, said_in, tells_failure
from retrospan.ingest.interpret.messages.tool_results import error_of, returned_as


def open_envelopes(tools: Sequence[ToolCall], results: Mapping[str, Part]) -> None:
    """Take what tools returned out of the envelopes that their spans have, and whether they failed, in place.

    `results` are those that messages tell, by call id.
    """
    inside = {
        tool: said
        for tool in tools
        if tool.result_source == "span" and (said := said_in(tool.result)) is not NOTHING
    }
    if not inside:
        return
    told = {tool: _told_of(tool, results) for tool in inside}
    agreed = {tool for tool, said in inside.items() if told[tool] == said or _tells_blocks(told[tool], tool)}
    confirmed = {_form(tool.result) for tool in agreed}
    for tool, said in inside.items():
        if tool in agreed or (told[tool] is NOTHING and _form(tool.result) in confirmed):
            _open(tool, said)


def _told_of(tool: ToolCall, results: Mapping[str, Part]) -> object:
    """Return what a message says that a tool returned, `NOTHING` where none does."""
    said = (tool.asked.result if tool.asked else None) or results.get(tool.call_id or "")
    return NOTHING if said is None else returned_as(said.get("response"))


def _tells_blocks(told: object, tool: ToolCall) -> bool:
    return isinstance(told, list) and isinstance(tool.result, dict) and told in tool.result.values()


def _form(result: object) -> frozenset[str]:
    return frozenset(map(str, result)) if isinstance(result, dict) else frozenset()


def _open(tool: ToolCall, said: object) -> None:
    envelope, tool.result = tool.result, said
    failed = isinstance(envelope, dict) and tells_failure(envelope)
    if failed and tool.span is not None and tool.span.error_message is None and isinstance(said, str):
        tool.span.error_message = said
    if tool.status == "ok" and (failed or error_of(said) is not None):
        tool.status = "error"
