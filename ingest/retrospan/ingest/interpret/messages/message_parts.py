"""Parts of messages in every form in which they are sent, read into that of the conventions: by type, by kind, by key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from retrospan.ingest.interpret.messages.message import Part
from retrospan.ingest.interpret.messages.server_tools import read_server_part
from retrospan.ingest.interpret.messages.tool_results import response_of
from retrospan.ingest.json_text import read_json, read_value

#: Names of a call's fields, in every spelling.
_IDS = (
    "call_id",
    "id",
    "tool_call_id",
    "toolUseId",
    "toolCallId",
    "callId",
    "tool_use_id",
    "ref",
    "tool_id",
    "toolId",
)
IDS_OF_RESULTS = (
    "tool_call_id",
    "tool_use_id",
    "call_id",
    "toolCallId",
    "toolUseId",
    "callId",
    "id",
    "tool_id",
    "toolId",
)
_IDS_OF_CALLS = ("call_id", "tool_call_id", "tool_use_id", "callId", "toolCallId", "toolUseId")
_NAMES = ("name", "toolName", "tool_name")
#: What else a tool is called where nothing but its arguments stands beside its name.
_NAMES_OF_TOOLS = ("tool_function", "tool_name", "toolName", "function_name", "function")
_ARGUMENTS = (
    "arguments",
    "args",
    "input",
    "tool_kwargs",
    "tool_input",
    "toolInput",
    "toolArgs",
    "tool_args",
    "tool_arguments",
    "toolArguments",
    "parameters",
    "params",
)
#: Under which keys parts that have no type hold a call, or a result.
_CALL_KEYS = ("functionCall", "function_call", "toolUse", "toolRequest", "tool_call")
_RESULT_KEYS = ("functionResponse", "function_response", "toolResult", "toolResponse")
_ACT_KEYS = (*_CALL_KEYS, *_RESULT_KEYS)
_BLOCK = {"type", "text"}
#: What APIs of threads keep a text in.
_ANNOTATED = {"value", "annotations"}
_RESULT_WORDS = re.compile("result|response|output|return|observation")
_CALL_WORDS = re.compile("call|use|invocation|request")


def read_part(part: object) -> Part:
    """Return one part of a message in the conventions' form; what is not known stays as it was sent."""
    if not isinstance(part, dict):
        return {"type": "text", "content": part if isinstance(part, str) else read_value(part)}
    kind = part.get("type")
    if isinstance(kind, str):
        kind = kind.lower() if kind.isupper() else kind
        inner = part.get(kind)
        if isinstance(inner, dict):
            found = _untyped({kind: inner}) if kind in _ACT_KEYS else part_by_kind(inner, kind)
            if found is not None:
                return found
    if kind in ("text", "input_text", "output_text"):
        return {"type": "text", "content": _text(part.get("content", part.get("text")))}
    if kind in ("tool_call", "tool_use", "function_call", "function", "tool-call"):
        return tool_call(part)
    if kind in (
        "tool_call_response",
        "tool_result",
        "function_call_output",
        "function_call_result",
        "tool-result",
    ):
        said = _in_block(first_of(part, "response", "result", "output", "content"))
        call_id = text_under(part, "id", "tool_use_id", "call_id", "tool_call_id", "toolCallId", "callId")
        if isinstance(said, dict) and set(said) == {"type", "value"}:
            how = {"is_error": str(said["type"]).startswith("error")}
            return tool_response(call_id, response_of(said["value"]), how)
        return tool_response(call_id, response_of(said), part)
    if kind in ("reasoning", "thinking"):
        return {
            "type": "reasoning",
            "content": first_of(part, "content", "thinking", "reasoning", "text", "summary"),
        }
    if kind is None:
        return _untyped(part)
    return read_server_part(part) or part_by_kind(part, str(kind)) or cast("Part", part)


def _text(said: object) -> object:
    """Return a text as it is, also one that an API keeps in an object, beside what it notes of its places."""
    is_kept = isinstance(said, dict) and said.keys() <= _ANNOTATED and isinstance(said.get("value"), str)
    return said["value"] if isinstance(said, dict) and is_kept else said


def part_by_kind(part: dict[str, object], kind: str) -> Part | None:
    """Read a part of a kind that nobody here has seen, where its words and its fields say that it is a call or a result."""
    words = kind.lower()
    if _RESULT_WORDS.search(words):
        call_id = text_under(part, *IDS_OF_RESULTS)
        said = _in_block(first_of(part, "result", "output", "response", "content", "value"))
        return None if call_id is None or said is None else tool_response(call_id, response_of(said), part)
    if _CALL_WORDS.search(words) and text_under(part, *_NAMES) and any(name in part for name in _ARGUMENTS):
        return tool_call(part)
    return None


def _in_block(said: object) -> object:
    """Return what is in the only block of a result, which is not in a list."""
    return [said] if isinstance(said, dict) and said.keys() == _BLOCK and said["type"] == "text" else said


def _untyped(part: dict[str, object]) -> Part:
    """Read Gemini's and Bedrock's parts, which name their kind by a key."""
    if isinstance(part.get("text"), str):
        return {"type": "text", "content": part["text"]}
    for key in _CALL_KEYS:
        call = part.get(key)
        if isinstance(call, dict):
            return tool_call(call)
    for key in _RESULT_KEYS:
        answer = part.get(key)
        if isinstance(answer, dict):
            return tool_response(
                text_under(answer, "id", "toolUseId", "ref"),
                response_of(first_of(answer, "response", "result", "content", "output")),
                answer,
            )
    told = part.get("tool_call_result")
    if isinstance(told, dict) and "result" in told:
        return _untyped(told)
    if "tool_name" in part and ("tool_kwargs" in part or "arguments" in part):
        return tool_call({**part, "id": part.get("tool_call_id", part.get("id"))})
    if isinstance(part.get("name"), str) and "arguments" in part:
        return tool_call(part)
    function = part.get("function")
    if isinstance(function, dict) and isinstance(function.get("name"), str) and "arguments" in function:
        return tool_call(part)
    if isinstance(part.get("call_id"), str) and "content" in part:
        return tool_response(text_under(part, "call_id"), response_of(part["content"]), part)
    origin = part.get("origin")
    if isinstance(origin, dict) and "result" in part:
        return tool_response(text_under(origin, "id"), response_of(part["result"]), part)
    return cast("Part", {"type": "unknown", **part})


def tool_call(call: dict[str, object]) -> Part:
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    part: Part = {"type": "tool_call"}
    call_id = text_under(call, *_IDS)
    if call_id is not None:
        part["id"] = call_id
    part["name"] = text_under(inner, *_NAMES) or (function if isinstance(function, str) else "")
    part["arguments"] = read_value(first_of(inner, *_ARGUMENTS))
    return part


def bare_act(told: dict[str, object]) -> Part | None:
    """Return the call, or the result, that an object among messages is, which names neither its kind nor who speaks: by the id
    of the call, and a name with arguments, or what was returned."""
    call_id = text_under(told, *_IDS_OF_CALLS)
    if call_id is None:
        return None
    name = text_under(told, *_NAMES, *_NAMES_OF_TOOLS)
    if name is not None and any(key in told for key in _ARGUMENTS):
        return tool_call({**told, "id": call_id, "name": name})
    said = first_of(told, "output", "result", "response")
    return tool_response(call_id, response_of(said), told) if said is not None else None


def results_in(listed: object) -> list[Part]:
    """Return the results in a list of objects that each say which call they answer, and with what; none in any other."""
    told = read_value(listed)
    if not isinstance(told, list):
        return []
    found = [part_by_kind(each, "result") if isinstance(each, dict) else None for each in told]
    parts = [part for part in found if part is not None]
    return parts if len(parts) == len(told) else []


def written_calls(content: list[object]) -> list[Part]:
    """Return the calls that a list of texts in an answer is, each the JSON of a tool's name and arguments and of nothing
    else; none where one is not. What a model says itself is one text, or blocks."""
    parts: list[Part] = []
    for text in content:
        told = read_json(text) if isinstance(text, str) and text[:1] == "{" else None
        if not isinstance(told, dict) or len(told) != 2:
            return []
        name = text_under(told, *_NAMES_OF_TOOLS)
        if name is None or told.keys().isdisjoint(_ARGUMENTS):
            return []
        parts.append(tool_call({**told, "name": name}))
    return parts


def calls_in(listed: object) -> list[dict[str, object]]:
    """Return the calls in a list of objects that each have an id, a name and arguments; none in any other, as one of
    definitions."""
    told = read_value(listed)
    if not isinstance(told, list):
        return []
    calls = [each for each in told if isinstance(each, dict) and _is_call(each)]
    return calls if len(calls) == len(told) else []


def _is_call(value: dict[str, object]) -> bool:
    function = value.get("function")
    inner = function if isinstance(function, dict) else value
    named = text_under(inner, *_NAMES) or isinstance(function, str)
    return bool(named and text_under(value, *_IDS) and any(name in inner for name in _ARGUMENTS))


def tool_response(call_id: str | None, response: object, source: Mapping[str, object]) -> Part:
    """Return the result of a tool; `is_error` stands with it where the source says that the tool failed."""
    part: Part = {"type": "tool_call_response"}
    if call_id is not None:
        part["id"] = call_id
    part["response"] = response
    if source.get("is_error") is True or source.get("error") is True or source.get("status") == "error":
        part["is_error"] = True
    return part


def first_of(value: Mapping[str, object], *keys: str) -> object:
    for key in keys:
        found = value.get(key)
        if found is not None:
            return found
    return None


def text_under(value: Mapping[str, object], *keys: str) -> str | None:
    found = first_of(value, *keys)
    return found if isinstance(found, str) and found else None
