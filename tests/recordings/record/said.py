"""What a model was told and what it said, in one form: from a model server's log, and from a row of `model_calls`."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

#: What some frameworks write around a result of a tool.
_WRAPPERS = ("result", "output", "content", "error")
Part = tuple[str, str, Any]
"""(role, kind, value): kind is text, call (value: name) or result (value: what the tool returned)"""
Answer = tuple[str, list[tuple[str | None, str, Any]]]
"""(text, calls): each call is (id, name, arguments)"""


def opened(value: Any) -> Any:
    """A value out of the text that holds it: JSON, or an object as Python prints it."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        pass
    try:
        return ast.literal_eval(value) if value[:1] in ("[", "{", "(") else value
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value


def bare(value: Any) -> Any:
    """A tool's result without the one key that some frameworks put around it."""
    value = opened(value)
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in _WRAPPERS:
        return bare(next(iter(value.values())))
    return value


def told(request: dict[str, Any], kept: Mapping[str, dict[str, Any]]) -> list[Part] | None:
    """What a request says to the model; None when it leans on what the server keeps.

    `kept` are the items that the server answered, by id: a request may name one instead of repeating it.
    """
    if request.get("previous_response_id"):
        return None
    instructions = request.get("instructions") or request.get("system") or request.get("systemInstruction")
    found: list[Part] = [("system", "text", text) for text in _texts(instructions)]
    turns = request.get("messages") or request.get("contents") or request.get("input") or []
    if isinstance(turns, str):
        turns = [{"role": "user", "content": turns}]
    for turn in turns:
        found += _of_turn(kept.get(turn["id"], turn) if turn.get("type") == "item_reference" else turn)
    return _joined(found)


def _of_turn(turn: dict[str, Any]) -> Iterator[Part]:
    role = {"developer": "system", "model": "assistant"}.get(
        str(turn.get("role")), turn.get("role") or "user"
    )
    content: Any = turn.get("content", turn.get("parts"))
    if role == "tool" and "parts" not in turn:
        yield ("tool", "result", "".join(_texts(content)))
    elif turn.get("type") == "function_call_output":
        yield ("tool", "result", "".join(_texts(turn["output"])))
    elif turn.get("type") == "function_call":
        yield ("assistant", "call", turn["name"])
    else:
        for block in _blocks(content):
            if block.get("type") == "tool_result":
                yield ("tool", "result", "".join(_texts(block.get("content"))))
            elif "functionResponse" in block:
                yield ("tool", "result", json.dumps(_returned(block["functionResponse"])))
            elif block.get("type") == "tool_use" or "functionCall" in block:
                yield ("assistant", "call", (block.get("functionCall") or block)["name"])
            elif block.get("text"):
                yield (role, "text", block["text"])
    for call in turn.get("tool_calls") or []:
        yield ("assistant", "call", call["function"]["name"])


def _returned(told: dict[str, Any]) -> Any:
    """What a tool returned, without the object that Genkit's client puts around it on its way to the API."""
    response = told.get("response")
    if isinstance(response, dict) and response.keys() == {"name", "content"}:
        return response["content"] if response["name"] == told.get("name") else response
    return response


def items_of(responses: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The items of answers of the Responses API by their ids, as a server keeps them."""
    outputs = (response.get("output") for response in responses)
    return {
        item["id"]: item for output in outputs if isinstance(output, list) for item in output if "id" in item
    }


def answered(response: dict[str, Any]) -> Answer | None:
    """The text and the calls (id, name, arguments) of an answer of the server; None when it refused."""
    if response.get("error") is not None:
        return None
    choice = (response.get("choices") or response.get("candidates") or [{}])[0]
    output = response.get("output")
    inside = output.get("message") if isinstance(output, dict) else None
    message = choice.get("message") or choice.get("content") or inside or response.get("message") or response
    content: Any = message.get("content") or message.get("parts") or message.get("output") or []
    text, calls = [], []
    for block in _blocks(content):
        call = block.get("functionCall") or block.get("toolUse") or block
        if call.get("name"):
            given = call.get("args", call.get("input", call.get("arguments")))
            call_id = block.get("call_id") or call.get("toolUseId") or call.get("id")
            calls.append((call_id, call["name"], opened(given)))
        else:
            text += _texts(block["content"] if isinstance(block.get("content"), list) else [block])
    for call in message.get("tool_calls") or []:
        about = call["function"]
        calls.append((call["id"], about["name"], opened(about["arguments"])))
    return "\n".join(text), calls


def tokens_of(response: dict[str, Any]) -> tuple[int, int]:
    """What the server counted: input with cached tokens, and output."""
    if "usageMetadata" in response:
        usage = response["usageMetadata"]
        return usage["promptTokenCount"], usage["candidatesTokenCount"]
    if "prompt_eval_count" in response:
        return response["prompt_eval_count"], response["eval_count"]
    usage = response.get("usage") or {}
    given = usage.get("prompt_tokens", usage.get("input_tokens", 0))
    cached = usage.get("cache_read_input_tokens", 0) + usage.get("cache_creation_input_tokens", 0)
    return given + cached, usage.get("completion_tokens", usage.get("output_tokens", 0))


def told_in_row(row: dict[str, Any]) -> list[Part]:
    """What a row of `model_calls` says that the model was told."""
    found: list[Part] = []
    for part in json.loads(row["system_instructions"] or "[]"):
        found.append(("system", "text", part.get("content") if isinstance(part, dict) else part))
    for message in json.loads(row["input_messages"] or "[]"):
        role = "system" if message["role"] == "developer" else message["role"]
        for part in message["parts"]:
            if part["type"] == "text" and part["content"]:
                found.append((role, "text", part["content"]))
            elif part["type"] == "tool_call":
                found.append(("assistant", "call", part["name"]))
            elif part["type"] == "tool_call_response":
                found.append(("tool", "result", part.get("response", part.get("result"))))
    return _joined(found)


def answered_in_row(row: dict[str, Any]) -> Answer:
    """The text and the calls of the answer in a row of `model_calls`."""
    parts = [part for message in json.loads(row["output_messages"] or "[]") for part in message["parts"]]
    text = "\n".join(str(part["content"]) for part in parts if part["type"] == "text" and part["content"])
    calls = [
        (part.get("id"), part["name"], opened(part.get("arguments")))
        for part in parts
        if part["type"] == "tool_call"
    ]
    return text, calls


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"text": content}] if isinstance(content, str) else content or []


def _texts(content: Any) -> list[str]:
    """The texts of a string, of a list of blocks, or of what has parts."""
    if isinstance(content, str):
        return [content] if content else []
    blocks = content.get("parts") if isinstance(content, dict) else content
    return [str(block["text"]) for block in blocks or [] if isinstance(block, dict) and block.get("text")]


def _joined(parts: list[Part]) -> list[Part]:
    """The same where it may be written otherwise: texts of one role in a row as one, results without wrappers."""
    found: list[Part] = []
    for role, kind, value in parts:
        if kind == "result":
            value = bare(value)
            value = "" if value in (None, [], {}) else value
        if kind == "text" and found and found[-1][:2] == (role, "text"):
            found[-1] = (role, "text", f"{found[-1][2]}\n{value}")
        else:
            found.append((role, kind, value))
    return found
