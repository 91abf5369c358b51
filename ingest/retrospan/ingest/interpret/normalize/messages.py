"""Messages in every form in which they are sent, read into the parts format of the OTel GenAI conventions.

The forms are distinguished by their shape, never by the instrumentation that sent them, so that unknown frameworks can
be read too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from retrospan.ingest.interpret.normalize.message import Message, Part
from retrospan.ingest.interpret.normalize.server_tools import is_server_item, item_parts, read_server_part
from retrospan.ingest.interpret.spans.pyrepr import read_repr
from retrospan.ingest.json_text import read_value, write_json

ROLES = {
    "developer": "system",
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "function": "tool",
    "tool-call": "assistant",
    "tool-response": "user",
    **dict.fromkeys(("bot", "chatbot", "llm"), "assistant"),
    **dict.fromkeys(("tool_result", "toolresult", "tool_response", "function_result"), "tool"),
}

#: Who speaks, by the name of the class of a message without `Message`, in lower case.
_CLASSES = {
    **{name: ROLES.get(name, name) for name in ("system", "user", "human", "assistant", "ai", "tool")},
    **dict.fromkeys(("toolresult", "functionresult", "functionexecutionresult"), "tool"),
}

#: How Python prints an object with fields: by its constructor, or as a mapping.
_PRINTED = re.compile(r"(?:[A-Za-z_][\w.]*\(\w+=|\{').*[)}]\Z", re.DOTALL)
#: Types of objects of APIs, which no model writes by itself: it may well answer `{'text': …, 'mood': …}`.
_PRINTED_TYPES = ("output_text", "function_call")
#: What a model says.
_MODELS_PARTS = ("text", "reasoning", "tool_call")

#: How frameworks tell a model what a tool has raised.
_RAISED = re.compile(
    r"(?:Error|Exception|[A-Z]\w*(?:Error|Exception)|Error \w+ tool|Traceback \(most recent call last\)):\s"
)

#: Names of a call's fields, in every spelling.
_IDS = ("call_id", "id", "tool_call_id", "toolUseId", "toolCallId", "callId", "tool_use_id", "ref")
_IDS_OF_RESULTS = ("tool_call_id", "tool_use_id", "call_id", "toolCallId", "toolUseId", "callId", "id")
_NAMES = ("name", "toolName", "tool_name")
_ARGUMENTS = (
    "arguments",
    "args",
    "input",
    "tool_kwargs",
    "tool_input",
    "toolInput",
    "toolArgs",
    "tool_args",
    "parameters",
)
_RESULT_WORDS = re.compile("result|response|output|return|observation")
_CALL_WORDS = re.compile("call|use|invocation|request")

#: How parts of a message name their kind that have no type.
_KINDS = frozenset(
    (
        *("functionCall", "function_call", "toolUse", "toolRequest", "tool_call", "tool_name"),
        *(
            "functionResponse",
            "function_response",
            "toolResult",
            "toolResponse",
            "tool_call_result",
            "origin",
        ),
    )
)
#: Types of OpenAI Responses items that are not messages themselves but one part of one.
_ITEM_ROLES = {"function_call": "assistant", "function_call_output": "tool", "reasoning": "assistant"}


def read_messages(value: object, role: str = "user") -> list[Message]:
    """Return the messages in a value: a list of messages, of lists of messages, one message, or a plain text.

    `role` is the role of whatever does not name one. Messages without content are left out.
    """
    value = read_value(value)
    if isinstance(value, str):
        return [{"role": role, "parts": [{"type": "text", "content": value}]}] if value else []
    if isinstance(value, dict):
        inner = value.get("messages")
        if isinstance(inner, list | str) and "role" not in value:
            return read_messages(inner, role)
        message = read_message(value, role)
        return [message] if message else []
    if isinstance(value, list):
        return [message for item in value for message in read_messages(item, role)]
    return []


def read_message(value: dict[str, object], role: str = "user") -> Message | None:
    """Return one message, or None if it is empty."""
    value = _opened(value)
    if definition_in(value) is not None:
        return None
    kind = value.get("type")
    is_item = isinstance(kind, str) and kind in _ITEM_ROLES and "role" not in value
    if is_server_item(kind) and "role" not in value:
        return {"role": "assistant", "parts": item_parts(value)}
    if is_item:
        role, parts = _ITEM_ROLES[str(kind)], [read_part(value)]
    else:
        role = _role_of(value, role)
        parts = _parts_of(value, role)
    if role == "assistant":
        parts = [said for part in parts for said in _unprinted(part)]
    elif role == "tool":
        parts = _said_once(parts)
    parts = [part for part in parts if part["type"] != "text" or part.get("content")]
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
    content = value.get("content")
    if value.get("role") != "tool" or not isinstance(content, dict) or "tool_call_id" in value:
        return None
    function = content.get("function")
    is_defined = isinstance(function, dict) and {"name", "parameters"} <= function.keys()
    return content if content.get("type") == "function" and is_defined else None


def _unprinted(part: Part) -> list[Part]:
    """Return what an assistant said where an instrumentation only printed the object that says it: that text is Python's,
    not the model's. Anything but the object of a message or of a part stays as it is."""
    text = part.get("content")
    if part["type"] != "text" or not isinstance(text, str) or not _PRINTED.match(text):
        return [part]
    value = read_repr(text)
    if not isinstance(value, dict):
        return [part]
    if value.get("role") == "assistant":
        said = _parts_of(value, "assistant")
    else:
        said = [read_part(value)] if value.get("type") in _PRINTED_TYPES else []
    return said if said and all(each["type"] in _MODELS_PARTS for each in said) else [part]


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
    for key in ("data", "kwargs"):
        inner = value.get(key)
        if isinstance(inner, dict) and "content" in inner and "role" not in value:
            return {"type": value.get("type") if key == "data" else _type_of_class(value.get("id")), **inner}
    message = value.get("message")
    if isinstance(message, dict) and "role" not in value and "parts" not in value and "content" not in value:
        return _opened(message)
    content = value.get("content")
    if isinstance(content, dict) and isinstance(content.get("parts"), list) and "role" not in value:
        return content
    return value


def _type_of_class(path: object) -> str | None:
    """Return the type that the name of a message's class says, as in `[…, "HumanMessage"]`."""
    name = path[-1] if isinstance(path, list) and path else None
    return name.removesuffix("Chunk").removesuffix("Message").lower() if isinstance(name, str) else None


def _role_of(value: dict[str, object], role: str) -> str:
    for key in ("role", "type"):
        said = value.get(key)
        if isinstance(said, str) and said and (key == "role" or said in ROLES or said in ("system", "tool")):
            return role_named(said)
        if key == "type" and isinstance(said, str) and said.endswith("Message"):
            return role_of_class(said) or role
    return role


def role_named(said: str) -> str:
    """Return the role of a name for it, also of one that an enumeration's member has: `MessageRole.USER`."""
    name = said.rpartition(".")[2].lower()
    return ROLES.get(name, name)


def role_of_class(name: str) -> str | None:
    """Return the role that the name of a message's class says, None where it says none."""
    return _CLASSES.get(name.removesuffix("Chunk").removesuffix("Message").lower())


def _parts_of(value: dict[str, object], role: str) -> list[Part]:
    parts = value.get("parts")
    if isinstance(parts, list):
        return _parts_and_beside(value, [read_part(part) for part in parts], role)
    if "content" not in value and "blocks" in value:
        value = {**_flattened(value), "content": value["blocks"]}
    if value.get("content") is None and isinstance(value.get("text"), str):
        value = {**value, "content": value["text"]}
    content = read_value(value.get("content"))
    if role == "tool" and not _is_tool_blocks(content):
        response = response_of(content)
        return [_tool_response(_text(value, *_IDS_OF_RESULTS), response, value)]
    found: list[Part] = []
    is_told = not isinstance(value.get("content"), str) or _are_blocks(content)
    if isinstance(content, list) and is_told and all(isinstance(block, dict | str) for block in content):
        found = [*_thought(value, content), *(read_part(block) for block in content)]
    elif isinstance(value.get("content"), str):
        found = [{"type": "text", "content": value["content"]}]
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
    """Return the parts with what an older form says beside them: the id of the call that is answered, or calls."""
    call_id = _text(value, "tool_call_id") if role == "tool" else None
    if call_id is not None and parts and all(part["type"] == "text" for part in parts):
        said = "".join(str(part.get("content", "")) for part in parts)
        return [_tool_response(call_id, response_of(said), value)]
    return [*parts, *_calls_beside(value, parts)]


def _calls_beside(value: dict[str, object], parts: list[Part]) -> list[Part]:
    """Return the calls that stand beside the content and are not among its parts."""
    known = {part.get("id") for part in parts if part["type"] == "tool_call"}
    nameless = [part for part in parts if part["type"] == "tool_call" and "id" not in part]
    calls = value.get("tool_calls") or value.get("toolCalls") or _older_call(value)
    found: list[Part] = []
    for call in calls if isinstance(calls, list) else []:
        call = read_repr(call) if isinstance(call, str) else call
        if isinstance(call, dict):
            part = _tool_call(call)
            is_told = any(
                (part.get("name"), part.get("arguments")) == (each.get("name"), each.get("arguments"))
                for each in nameless
            )
            if not is_told and ("id" not in part or part["id"] not in known):
                found.append(part)
    return found


def _older_call(value: dict[str, object]) -> list[object]:
    """Return the one call of a chat message from before there were several; OpenInference spells it out."""
    call = value.get("function_call")
    if isinstance(call, dict):
        return [call]
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
            or (isinstance(block.get("type"), str) and _by_kind(block, str(block["type"])) is not None)
            or ("call_id" in block and "content" in block)
        )
        for block in content
    )


def read_part(part: object) -> Part:
    """Return one part of a message in the conventions' form; what is not known stays as it was sent."""
    if not isinstance(part, dict):
        return {"type": "text", "content": part if isinstance(part, str) else read_value(part)}
    kind = part.get("type")
    if kind in ("text", "input_text", "output_text"):
        return {"type": "text", "content": part.get("content", part.get("text"))}
    if kind in ("tool_call", "tool_use", "function_call", "function", "tool-call"):
        return _tool_call(part)
    if kind in ("tool_call_response", "tool_result", "function_call_output", "tool-result"):
        said = _first(part, "response", "result", "output", "content")
        call_id = _text(part, "id", "tool_use_id", "call_id", "tool_call_id", "toolCallId")
        if isinstance(said, dict) and set(said) == {"type", "value"}:
            how = {"is_error": str(said["type"]).startswith("error")}
            return _tool_response(call_id, response_of(said["value"]), how)
        return _tool_response(call_id, response_of(said), part)
    if kind in ("reasoning", "thinking"):
        return {
            "type": "reasoning",
            "content": _first(part, "content", "thinking", "reasoning", "text", "summary"),
        }
    if kind is None:
        return _untyped(part)
    return read_server_part(part) or _by_kind(part, str(kind)) or cast("Part", part)


def _by_kind(part: dict[str, object], kind: str) -> Part | None:
    """Read a part of a kind that nobody here has seen, where its words and its fields say that it is a call or a result."""
    words = kind.lower()
    if _RESULT_WORDS.search(words):
        call_id = _text(part, *_IDS_OF_RESULTS)
        said = _first(part, "result", "output", "response", "content", "value")
        return None if call_id is None or said is None else _tool_response(call_id, response_of(said), part)
    if _CALL_WORDS.search(words) and _text(part, *_NAMES) and any(name in part for name in _ARGUMENTS):
        return _tool_call(part)
    return None


def _untyped(part: dict[str, object]) -> Part:
    """Read Gemini's and Bedrock's parts, which name their kind by a key."""
    if isinstance(part.get("text"), str):
        return {"type": "text", "content": part["text"]}
    for key in ("functionCall", "function_call", "toolUse", "toolRequest", "tool_call"):
        call = part.get(key)
        if isinstance(call, dict):
            return _tool_call(call)
    for key in ("functionResponse", "function_response", "toolResult", "toolResponse"):
        answer = part.get(key)
        if isinstance(answer, dict):
            return _tool_response(
                _text(answer, "id", "toolUseId", "ref"),
                response_of(_first(answer, "response", "result", "content", "output")),
                answer,
            )
    told = part.get("tool_call_result")
    if isinstance(told, dict) and "result" in told:
        return _untyped(told)
    if "tool_name" in part and ("tool_kwargs" in part or "arguments" in part):
        return _tool_call({**part, "id": part.get("tool_call_id", part.get("id"))})
    if isinstance(part.get("name"), str) and "arguments" in part:
        return _tool_call(part)
    if isinstance(part.get("call_id"), str) and "content" in part:
        return _tool_response(_text(part, "call_id"), response_of(part["content"]), part)
    origin = part.get("origin")
    if isinstance(origin, dict) and "result" in part:
        return _tool_response(_text(origin, "id"), response_of(part["result"]), part)
    return cast("Part", {"type": "unknown", **part})


def _tool_call(call: dict[str, object]) -> Part:
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    part: Part = {"type": "tool_call"}
    call_id = _text(call, *_IDS)
    if call_id is not None:
        part["id"] = call_id
    part["name"] = _text(inner, *_NAMES) or ""
    part["arguments"] = read_value(_first(inner, *_ARGUMENTS))
    return part


def _tool_response(call_id: str | None, response: object, source: Mapping[str, object]) -> Part:
    """Return the result of a tool; `is_error` stands with it where the source says that the tool failed."""
    part: Part = {"type": "tool_call_response"}
    if call_id is not None:
        part["id"] = call_id
    part["response"] = response
    if source.get("is_error") is True or source.get("error") is True or source.get("status") == "error":
        part["is_error"] = True
    return part


def error_of(response: object) -> str | None:
    """Return the error that a tool returned as its result: MCP's mark, or an object that holds nothing but an error."""
    if not isinstance(response, dict):
        return None
    if response.get("isError") is True or response.get("is_error") is True:
        said: object = response.get("content", response)
    elif [*response] == ["error"] and response["error"]:
        said = response["error"]
    else:
        return None
    return said if isinstance(said, str) else write_json(said)


def told_error(response: object) -> str | None:
    """Return the error that a result tells which is known from a message alone, with nothing else to say how it went: that
    of `error_of`, or a text that begins as frameworks write what a tool has raised."""
    if isinstance(response, str) and _RAISED.match(response):
        return response
    return error_of(response)


def response_of(value: object) -> object:
    """Return what a tool said: the text of text blocks joined, and JSON where the text is JSON."""
    if isinstance(value, list) and value and all(isinstance(block, dict) for block in value):
        if all(_is_text_block(block) for block in value):
            return read_value("".join(block["text"] for block in value))
        if all(set(block) == {"json"} for block in value):
            return value[0]["json"] if len(value) == 1 else [block["json"] for block in value]
    return read_value(value)


def _is_text_block(block: dict[str, object]) -> bool:
    """Tell whether an object is only text: with anything else beside it, as an id, it is a document."""
    return (
        isinstance(block.get("text"), str)
        and block.get("type", block.get("block_type")) in ("text", "output_text", "input_text", None)
        and block.keys() <= {"text", "type", "block_type"}
    )


def _first(value: dict[str, object], *keys: str) -> object:
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _text(value: dict[str, object], *keys: str) -> str | None:
    found = _first(value, *keys)
    return found if isinstance(found, str) and found else None
