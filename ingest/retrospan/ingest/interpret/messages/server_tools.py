"""Tools that the provider of a model runs itself, while it answers: a search of the web, code, a remote MCP server.

In the conventions a call of one is a part `server_tool_call` and what it returned a part `server_tool_call_response`. The
APIs of Anthropic tell the two apart, with one type of result for each tool; those of OpenAI tell both in one item.
"""

from __future__ import annotations

from typing import cast

from retrospan.ingest.interpret.messages.message import Message, Part, parts_of
from retrospan.ingest.json_text import read_value

CALL, RESPONSE = "server_tool_call", "server_tool_call_response"
_CALLS = ("server_tool_use", "mcp_tool_use")
#: Items of OpenAI's Responses API for tools that run at the provider: others run where the agent does.
_ITEMS = ("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call")
_RETURNED = ("output", "results", "outputs", "result", "error")
_BESIDE = ("type", "id", "name", "status", "server_label", *_RETURNED)


def is_server_item(kind: object) -> bool:
    """Tell whether this is the type of an item that tells of a call and of what it returned."""
    return kind in _ITEMS


def item_parts(item: dict[str, object]) -> list[Part]:
    """Return the call that an item tells of, and what it returned where that stands there."""
    kind = str(item["type"]).removesuffix("_call")
    given = (
        read_value(item["arguments"])
        if "arguments" in item
        else {k: v for k, v in item.items() if k not in _BESIDE}
    )
    parts = [_call(item.get("id"), item.get("name", kind), kind, given)]
    returned = next((key for key in _RETURNED if item.get(key) is not None), None)
    if returned is not None or item.get("status") == "failed":
        said = item.get(returned) if returned else None
        parts.append(
            _response(
                item.get("id"), kind, said, failed=returned == "error" or item.get("status") == "failed"
            )
        )
    return parts


def read_server_part(part: dict[str, object]) -> Part | None:
    """Return the call or the result that a block tells of, in the conventions' form; None where it is not one."""
    kind = part.get("type")
    if kind in _CALLS:
        called = str(part.get("name") or "")
        return _call(part.get("id"), called, called, part.get("input"))
    if isinstance(kind, str) and kind.endswith("_tool_result") and "tool_use_id" in part:
        said = part.get("content")
        failed = part.get("is_error") is True or (isinstance(said, dict) and "error_code" in said)
        return _response(part["tool_use_id"], kind.removesuffix("_tool_result"), said, failed=failed)
    return None


def called_with(part: Part) -> object:
    """Return the arguments of a call: all that its details say but their type."""
    details = part.get(CALL)
    if not isinstance(details, dict):
        return None
    return {key: value for key, value in details.items() if key != "type"}


def returned_by(message: Message, call: Part, place: int) -> Part | None:
    """Return what a call in a message returned: by its id, without one by its place among the calls."""
    responses = parts_of(message, RESPONSE)
    if "id" in call:
        return next((each for each in responses if each.get("id") == call["id"]), None)
    return responses[place] if place < len(responses) and "id" not in responses[place] else None


def response_in(part: Part) -> object:
    """Return what a response says beside its type: what there is only one of is taken out."""
    details = part.get(RESPONSE)
    if not isinstance(details, dict):
        return details
    said = {key: value for key, value in details.items() if key != "type"}
    return next(iter(said.values())) if len(said) == 1 else said


def _call(call_id: object, name: object, kind: str, given: object) -> Part:
    details = given if isinstance(given, dict) else {} if given is None else {"input": given}
    part: dict[str, object] = {"type": CALL, "name": name, CALL: {**details, "type": kind}}
    return cast("Part", {**part, "id": call_id} if isinstance(call_id, str) and call_id else part)


def _response(call_id: object, kind: str, said: object, *, failed: bool) -> Part:
    part: dict[str, object] = {"type": RESPONSE, RESPONSE: {"type": kind, "content": said}}
    if failed:
        part["is_error"] = True
    return cast("Part", {**part, "id": call_id} if isinstance(call_id, str) and call_id else part)
