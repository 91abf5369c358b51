"""Anthropic's messages. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.exporter.replay.wire.form import (
    JSON,
    Answer,
    Asked,
    Form,
    Refusal,
    argument_object,
    call_part,
    chosen,
    dicts,
    dumped,
    finish_of,
    message,
    named,
    result_part,
    split,
    text_part,
)
from retrospan.exporter.replay.wire.remembering import remembered

_PARAMETERS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "max_tokens": "max_tokens",
    "stop_sequences": "stop_sequences",
}
_REASONS = {
    "stop": "end_turn",
    "completed": "end_turn",
    "length": "max_tokens",
    "tool_call": "tool_use",
    "tool_calls": "tool_use",
}
#: The type of an error by its status.
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def _is_spoken_at(host: str, path: str) -> bool:
    return path.endswith("/v1/messages")


def _read(path: str, body: JSON) -> Asked:
    system = body.get("system")
    return Asked(
        form=FORM.name,
        model=body.get("model"),
        streamed=bool(body.get("stream")),
        system=[text_part(system)] if isinstance(system, str) else [_part(each) for each in dicts(system)],
        messages=[read for each in dicts(body.get("messages")) for read in _messages(each)],
        tools=_tools(body),
        parameters=chosen(body, _PARAMETERS),
    )


@remembered
def _messages(each: JSON) -> list[JSON]:
    """Return one message, or two where results of tools stand beside what the user says."""
    role, content = str(each.get("role")), each.get("content")
    if isinstance(content, str):
        return [message(role, [text_part(content)])]
    parts = [_part(block) for block in dicts(content)]
    results = [part for part in parts if part["type"] == "tool_call_response"]
    others = [part for part in parts if part["type"] != "tool_call_response"]
    found = [message("tool", results)] if results else []
    if others or not results:
        found.append(message(role, others))
    return found


def _part(block: JSON) -> JSON:
    kind = block.get("type")
    if kind == "text":
        return text_part(block.get("text"))
    if kind == "tool_use":
        return call_part(block.get("id"), block.get("name"), block.get("input"))
    if kind == "tool_result":
        return result_part(block.get("tool_use_id"), block.get("content"))
    if kind == "thinking":
        return {"type": "reasoning", "content": block.get("thinking")}
    return block


def _tools(body: JSON) -> list[JSON] | None:
    offered = dicts(body.get("tools"))
    if not offered:
        return None
    names = {"name": "name", "description": "description", "input_schema": "parameters"}
    return [chosen(tool, names) if "input_schema" in tool else tool for tool in offered]


def _blocks(answer: Answer) -> list[JSON]:
    return [_block(part) for choice in answer.choices for part in choice.parts]


def _block(part: JSON) -> JSON:
    kind = part.get("type")
    if kind == "text":
        kept = {key: value for key, value in part.items() if key not in ("type", "content")}
        return {"type": "text", "text": part.get("content"), **kept}
    if kind == "tool_call":
        return {
            "type": "tool_use",
            "id": part.get("id"),
            "name": part.get("name"),
            "input": argument_object(part.get("arguments")),
        }
    if kind == "reasoning":
        signature = str(part.get("signature") or "")
        return {"type": "thinking", "thinking": part.get("content") or "", "signature": signature}
    return part


def _usage(answer: Answer) -> JSON:
    known = answer.usage
    cached, written = known.get("cache_read_tokens", 0), known.get("cache_write_tokens", 0)
    return {
        # Ours count what came from a cache as well; Anthropic's do not.
        "input_tokens": max(known.get("input_tokens", 0) - cached - written, 0),
        "output_tokens": known.get("output_tokens", 0),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
    }


def _whole(answer: Answer, asked: Asked) -> JSON:
    stop = finish_of(answer.choices[0], _REASONS, "tool_use", "end_turn") if answer.choices else "end_turn"
    return {
        "id": answer.id,
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": _blocks(answer),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": _usage(answer),
    }


def _stream(answer: Answer, asked: Asked) -> Iterator[bytes]:
    whole = _whole(answer, asked)

    def event(kind: str, **said: object) -> bytes:
        return named(kind, {"type": kind, **said})

    usage = {**whole["usage"], "output_tokens": 1}
    yield event("message_start", message={**whole, "content": [], "stop_reason": None, "usage": usage})
    for place, block in enumerate(whole["content"]):
        opened, deltas = _in_deltas(block)
        yield event("content_block_start", index=place, content_block=opened)
        for delta in deltas:
            yield event("content_block_delta", index=place, delta=delta)
        yield event("content_block_stop", index=place)
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=stop, usage=whole["usage"])
    yield event("message_stop")


def _in_deltas(block: JSON) -> tuple[JSON, list[JSON]]:
    if block["type"] == "text":
        pieces = split(block["text"] or "")
        return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]
    if block["type"] == "tool_use":
        pieces = split(dumped(block["input"]))
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        return {**block, "input": {}}, deltas
    if block["type"] == "thinking":
        thought = [{"type": "thinking_delta", "thinking": piece} for piece in split(block["thinking"])]
        signed = [{"type": "signature_delta", "signature": block["signature"]}]
        return {**block, "thinking": "", "signature": ""}, [*thought, *signed]
    return block, []


def _refuse(refusal: Refusal) -> JSON:
    if refusal.body is not None:
        return refusal.body if "error" in refusal.body else {"type": "error", "error": refusal.body}
    kind = _ERRORS.get(refusal.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": refusal.message}}


def _as_request(answer: JSON) -> JSON:
    return {"messages": [{"role": "assistant", "content": answer["content"]}]}


def _instruct(body: JSON, prompt: str) -> None:
    body["system"] = prompt


FORM = Form(
    "anthropic messages",
    _is_spoken_at,
    _read,
    _whole,
    _stream,
    _refuse,
    _as_request,
    _instruct,
    piece=b"event: content_block_delta\n",
)
