"""Messages in every form in which they are sent, read into the parts format of the OTel GenAI conventions.

The forms are distinguished by their shape, never by the instrumentation that sent them, so that unknown frameworks can
be read too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from retrospan.ingest.interpret.messages.empty_questions import only_questions
from retrospan.ingest.interpret.messages.message import Message, Part
from retrospan.ingest.interpret.messages.message_parts import (
    IDS_OF_RESULTS,
    bare_act,
    calls_in,
    part_by_kind,
    read_part,
    results_in,
    text_under,
    tool_call,
    tool_response,
    written_calls,
)
from retrospan.ingest.interpret.messages.roles import SPEAKERS, role_of
from retrospan.ingest.interpret.messages.server_tools import is_server_item, item_parts
from retrospan.ingest.interpret.messages.tool_results import response_of
from retrospan.ingest.interpret.spans.exported_fields import with_plain_names
from retrospan.ingest.interpret.spans.pyrepr import read_repr
from retrospan.ingest.interpret.spans.spoken import are_spoken, named_speaker, read_spoken
from retrospan.ingest.json_text import read_json, read_value, write_json

#: How Python prints an object with fields: by its constructor, or as a mapping.
PRINTED = re.compile(r"(?:[A-Za-z_][\w.]*\(\w+=|\{').*[)}]\Z", re.DOTALL)

#: Types of objects of APIs, which no model writes by itself: it may well answer `{'text': …, 'mood': …}`.
_PRINTED_TYPES = ("output_text", "function_call")

#: How the JSON of an object begins, also in the quotes of JSON.
_WRITTEN = re.compile(r'"?\{\\?"')
#: How Monocle writes the first call of an answer by Gemini.
_CALLED = re.compile(r'"model": ([\w.-]+), "args": (\{.*\})', re.DOTALL)
#: Types of blocks that ask for a tool, and what the function of a call has.
_CALL_TYPES = ("tool_use", "function_call", "tool_call")
_FUNCTION = {"name", "arguments"}

#: How languages print that there is nothing: beside calls a text that is just this was none.
NOTHING = ("None", "null", "undefined", "nil", "<nil>")

#: What a model says.
_MODELS_PARTS = ("text", "reasoning", "tool_call")

#: How parts of a message name their kind that have no type.
_KINDS = frozenset(
    (
        *("functionCall", "function_call", "toolUse", "toolRequest", "tool_call", "tool_name"),
        *("functionResponse", "function_response", "toolResult", "toolResponse", "tool_call_result"),
        "origin",
    )
)

#: Types of items of OpenAI's Responses, and of Anthropic's blocks, that are not messages themselves but one part of one.
_ITEM_ROLES = {
    "tool_use": "assistant",
    "tool_result": "tool",
    "function_call": "assistant",
    "function_call_output": "tool",
    "function_call_result": "tool",
    "reasoning": "assistant",
}
#: Under which names a message says something: an item of a response with a role says it otherwise.
_SAID = frozenset(("content", "contents", "parts", "tool_calls", "toolCalls", "blocks", "message"))
_TOLD = _SAID | {"role", "text"}
#: Most names of a message, which tell of no calls.
_PLAIN_NAMES = frozenset(("role", "content", "type", "name", "id", "parts", "finish_reason"))
#: What else lists are called that tell of calls, or of what they returned, beside what was said.
_OF_TOOLS = re.compile("tool|function", re.IGNORECASE)
_OF_RESULTS = re.compile("result|response|output", re.IGNORECASE)
#: A part of which an instrumentation only printed what its class is called: what it said is lost.
_CLASS_OF_ACT = re.compile(r"(?:Tool|Function)(?:Call|Use|Request|Result|Response)+(?:Part|Content|Block)?\Z")


def read_messages(value: object, role: str = "user") -> list[Message]:
    """Return the messages in a value: a list of messages, of lists of messages, one message, or a plain text.

    `role` is the role of whatever does not name one. Messages without content are left out, but that of a user who begins
    with an empty text.
    """
    value = with_plain_names(read_value(value))
    if isinstance(value, str):
        said: Part = {"type": "text", "content": value}
        written = written_call(said, {}) if role == "assistant" else []
        return [{"role": role, "parts": written or [said]}] if value else []
    if isinstance(value, dict):
        inner = value.get("messages")
        if isinstance(inner, list | str) and "role" not in value:
            return read_messages(inner, role)
        message = read_message(value, role)
        return [message] if message else []
    if isinstance(value, list):
        items = read_spoken(value) if are_spoken(value) else value
        return only_questions([message for item in items for message in read_messages(item, role)])
    return []


def read_message(value: dict[str, object], role: str = "user") -> Message | None:
    """Return one message, or None if it is empty."""
    value = _opened(value)
    if definition_in(value) is not None:
        return None
    kind = value.get("type")
    is_item = (
        isinstance(kind, str) and kind in _ITEM_ROLES and ("role" not in value or _SAID.isdisjoint(value))
    )
    if is_server_item(kind) and "role" not in value:
        return {"role": "assistant", "parts": item_parts(value)}
    act = bare_act(value) if kind is None and _TOLD.isdisjoint(value) else None
    if act is not None:
        role, parts = "assistant" if act["type"] == "tool_call" else "tool", [act]
    elif is_item:
        role, parts = _ITEM_ROLES[str(kind)], [read_part(value)]
    else:
        role = role_of(value, role)
        parts = _parts_of(value, role)
    if role == "assistant":
        parts = without_nothing(
            [said for part in parts for said in (written_call(part, value) or _unprinted(part))]
        )
    elif role == "tool":
        parts = _said_once(parts)
    told = [part for part in parts if part["type"] != "text" or part.get("content")]
    if not told and role == "user":
        told = [part for part in parts if part.get("content") == ""][:1]  # a person may well say nothing
    parts = told
    if not parts:
        return None
    # Chat APIs give text and calls apart, without an order between them: text stands first.
    parts.sort(key=lambda part: part["type"] == "tool_call")
    if role == "user" and all(part["type"] == "tool_call_response" for part in parts):
        role = "tool"
    message: Message = {"role": role, "parts": parts}
    name = value.get("name")
    if isinstance(name, str) and name and role != "tool" and not is_item:
        message["name"] = name
    return message


def definition_in(value: Mapping[str, object]) -> object:
    """Return the definition of a tool that stands among messages as if it were one, as LangChain's callbacks tell it."""
    if value.get("role") != "tool":
        return None
    content = value.get("content")
    if not isinstance(content, dict) or "tool_call_id" in value:
        return None
    function = content.get("function")
    is_defined = isinstance(function, dict) and {"name", "parameters"} <= function.keys()
    return content if content.get("type") == "function" and is_defined else None


def without_nothing(parts: list[Part]) -> list[Part]:
    """Return the parts of an answer without a text that only prints that there is none, where a call stands beside it."""
    if len(parts) < 2 or not any(part["type"] == "tool_call" for part in parts):
        return parts
    return [part for part in parts if part["type"] != "text" or part.get("content") not in NOTHING]


def _unprinted(part: Part) -> list[Part]:
    """Return what an assistant said where an instrumentation only printed the object that says it: that text is Python's,
    not the model's. Anything but the object of a message or of a part stays as it is."""
    text = part.get("content")
    if part["type"] != "text" or not isinstance(text, str) or not PRINTED.match(text):
        return [part]
    value = read_repr(text)
    if not isinstance(value, dict):
        return [part]
    if value.get("role") == "assistant":
        said = _parts_of(value, "assistant")
    else:
        said = [read_part(value)] if value.get("type") in _PRINTED_TYPES else []
    return said if said and all(each["type"] in _MODELS_PARTS for each in said) else [part]


def written_call(part: Part, message: Mapping[str, object]) -> list[Part]:
    """Return the call that an instrumentation wrote as the text of an answer: as the block of an API in the quotes of JSON,
    as no model writes it that shows a block, or as the function of one, with its id beside it. Nothing where it is not
    one."""
    text = part.get("content")
    if part["type"] != "text" or not isinstance(text, str):
        return []
    if (printed := _CALLED.fullmatch(text)) is not None:
        arguments = read_repr(printed[2])
        return (
            [tool_call({"name": printed[1], "arguments": arguments})] if isinstance(arguments, dict) else []
        )
    if not _WRITTEN.match(text) or "name" not in text:
        return []
    told = read_json(text)
    said = read_json(told) if isinstance(told, str) else told
    if not isinstance(said, dict):
        return []
    is_quoted = isinstance(told, str)
    if (
        is_quoted
        and said.get("type") in _CALL_TYPES
        and text_under(said, "id", "call_id")
        and text_under(said, "name")
    ):
        return [read_part(said)]
    call_id = text_under(message, "tool_call_id", "call_id", "tool_use_id")
    is_function = said.keys() == _FUNCTION and isinstance(said["arguments"], str | dict)
    return [tool_call({**said, "id": call_id})] if call_id is not None and is_function else []


def _said_once(parts: list[Part]) -> list[Part]:
    """Return the parts of a tool's message without texts that repeat a result beside them."""
    results = [part["response"] for part in parts if "response" in part]
    return [
        part
        for part in parts
        if part["type"] != "text" or not results or response_of(part.get("content")) not in results
    ]


def _opened(value: dict[str, object]) -> dict[str, object]:
    """Return the message inside LangChain's two wrappers (`{"type", "data"}` and `{"lc", "kwargs"}`), a choice or a
    candidate, or as it is."""
    speaker = named_speaker(value)
    if speaker is not None:
        said = value[speaker]
        calls = calls_in([said] if isinstance(said, dict) else said)
        return {**value, "role": speaker, **({"tool_calls": calls} if calls else {"content": said})}
    if "role" in value:
        options = value.get("options")
        return _with_options(value, options) if isinstance(options, dict) else value
    for key in ("data", "kwargs"):
        inner = value.get(key)
        if isinstance(inner, dict) and "content" in inner:
            return {"type": value.get("type") if key == "data" else _type_of_class(value.get("id")), **inner}
    message = value.get("message")
    if isinstance(message, dict) and "parts" not in value and "content" not in value:
        return _opened(message)
    content = value.get("content")
    if isinstance(content, dict) and isinstance(content.get("parts"), list):
        return content
    return value


def _with_options(value: dict[str, object], options: dict[str, object]) -> dict[str, object]:
    """Return a message with the calls, or the result, that LlamaIndex.TS keeps among its options."""
    calls, result = options.get("toolCall"), options.get("toolResult")
    if isinstance(result, dict) and "result" in result:
        told = {"tool_call_id": result.get("id"), "is_error": result.get("isError") is True}
        return {"role": "tool", "content": result["result"], **told}
    calls = [calls] if isinstance(calls, dict) else calls
    return {**value, "tool_calls": calls} if isinstance(calls, list) else value


def _type_of_class(path: object) -> str | None:
    """Return the type that the name of a message's class says, as in `[…, "HumanMessage"]`."""
    name = path[-1] if isinstance(path, list) and path else None
    return name.removesuffix("Chunk").removesuffix("Message").lower() if isinstance(name, str) else None


def _parts_of(value: dict[str, object], role: str) -> list[Part]:
    parts = value.get("parts")
    if isinstance(parts, list):
        said = [each for each in parts if not (isinstance(each, str) and _CLASS_OF_ACT.match(each))]
        return _parts_and_beside(value, [read_part(part) for part in said], role)
    if "content" not in value and isinstance(value.get("contents"), list):
        value = {**value, "content": value["contents"]}
    if "content" not in value and "blocks" in value:
        value = {**_flattened(value), "content": value["blocks"]}
    if value.get("content") is None:
        told = next((text for key in ("text", "message") if isinstance(text := value.get(key), str)), None)
        value = value if told is None else {**value, "content": told}
    content = read_value(value.get("content"))
    if role == "tool" and not _is_tool_blocks(content):
        beside = [] if content else _results_beside(value)
        if beside:
            return beside
        part = tool_response(text_under(value, *IDS_OF_RESULTS), response_of(content), value)
        if "content" not in value and part.get("id"):
            del part["response"]  # that there was a result is all that is told
        return [part]
    found: list[Part] = []
    is_told = not isinstance(value.get("content"), str) or _are_blocks(content)
    if role not in SPEAKERS and isinstance(content, list) and not (content and _are_blocks(content)):
        found = [{"type": "text", "content": write_json(content)}]  # what somebody gave back, as a tool
    elif isinstance(content, list) and is_told and all(isinstance(block, dict | str) for block in content):
        written = written_calls(content) if role == "assistant" else []
        found = written or [*_thought(value, content), *(read_part(block) for block in content)]
    elif isinstance(value.get("content"), str):
        found = [{"type": "text", "content": value["content"]}]
    elif isinstance(content, dict) and content.keys() == {"text"}:
        found = [read_part({"type": "text", **content})]
    elif content is not None:
        found = [{"type": "text", "content": content}]
    return [*found, *_calls_beside(value, found)]


def _are_blocks(content: object) -> bool:
    """Tell whether what a text holds are blocks that an instrumentation wrote as one, and not what somebody said: each
    names its kind."""
    return isinstance(content, list) and all(
        isinstance(block, dict)
        and ("type" in block or block.keys() == {"text"} or not block.keys().isdisjoint(_KINDS))
        for block in content
    )


def _thought(value: dict[str, object], content: list[object]) -> list[Part]:
    """Return the text before calls where it stands beside the content, which is these calls alone."""
    text = value.get("thought")
    are_calls = all(isinstance(block, dict) and {"name", "arguments"} <= block.keys() for block in content)
    return [{"type": "text", "content": text}] if content and are_calls and isinstance(text, str) else []


def _parts_and_beside(value: dict[str, object], parts: list[Part], role: str) -> list[Part]:
    """Return the parts with what an older form says beside them: the id of the call that is answered, or calls. The texts
    of a tool are what it returned."""
    call_id = text_under(value, "tool_call_id") if role == "tool" else None
    if role == "tool" and parts and all(part["type"] == "text" for part in parts):
        said = "".join(str(part.get("content", "")) for part in parts)
        if said or call_id is not None:
            return [tool_response(call_id, response_of(said), value)]
    return [*parts, *_calls_beside(value, parts)]


def _calls_beside(value: dict[str, object], parts: list[Part]) -> list[Part]:
    """Return the calls that stand beside the content and are not among its parts."""
    calls = value.get("tool_calls") or value.get("toolCalls") or _older_call(value) or _listed_calls(value)
    if not isinstance(calls, list) or not calls:
        return []
    known = {part.get("id") for part in parts if part["type"] == "tool_call"}
    nameless = [part for part in parts if part["type"] == "tool_call" and "id" not in part]
    found: list[Part] = []
    for call in calls:
        call = read_repr(call) if isinstance(call, str) else call
        if isinstance(call, dict):
            part = tool_call(call)
            is_told = any(
                (part.get("name"), part.get("arguments")) == (each.get("name"), each.get("arguments"))
                for each in nameless
            )
            if not is_told and ("id" not in part or part["id"] not in known):
                found.append(part)
    return found


def _listed_calls(value: dict[str, object]) -> list[dict[str, object]]:
    """Return the calls that a message lists under another name."""
    listed = (
        calls_in(inner) for key, inner in value.items() if key not in _PLAIN_NAMES and _OF_TOOLS.search(key)
    )
    return next((calls for calls in listed if calls), [])


def _results_beside(value: dict[str, object]) -> list[Part]:
    """Return the results that a message lists beside its content, which is empty."""
    listed = (results_in(inner) for key, inner in value.items() if _OF_RESULTS.search(key))
    return next((parts for parts in listed if parts), [])


def _older_call(value: dict[str, object]) -> list[object]:
    """Return the one call of a chat message from before there were several; OpenInference spells it out."""
    call = value.get("function_call")
    if isinstance(call, dict):
        return [call] if call else []  # an empty one stands for a call of another kind, or none
    name = value.get("function_call_name")
    return [{"name": name, "arguments": value.get("function_call_arguments_json")}] if name else []


def _flattened(value: dict[str, object]) -> dict[str, object]:
    """Return a message with the keys its framework keeps apart (`additional_kwargs`) beside its own."""
    extra = value.get("additional_kwargs")
    return {**extra, **value} if isinstance(extra, dict) else value


def _is_tool_blocks(content: object) -> bool:
    """Tell whether a tool's message holds blocks that say themselves which call they answer."""
    return isinstance(content, list) and any(
        isinstance(block, dict)
        and (
            block.get("type") in ("tool_result", "tool-result", "tool_call_response")
            or "toolResult" in block
            or "toolResponse" in block
            or "functionResponse" in block
            or "function_response" in block
            or "origin" in block
            or "tool_call_result" in block
            or (isinstance(block.get("type"), str) and part_by_kind(block, str(block["type"])) is not None)
            or ("call_id" in block and "content" in block)
        )
        for block in content
    )
