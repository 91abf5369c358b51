"""Answers of a model server in the forms of five APIs, whole and as streams. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

JSON = dict[str, Any]
CREATED = 1760000000


@dataclass(frozen=True)
class Answer:
    """What the model says, before an API gives it a form."""

    name: str
    """Of the scenario, turn and step: part of the answer's id."""
    model: str
    text: str | None
    calls: tuple[tuple[str, str, JSON], ...]
    """(id, name, arguments)"""
    input_tokens: int
    output_tokens: int
    cached_tokens: int


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def chat(answer: Answer) -> JSON:
    """OpenAI's chat completion."""
    message: JSON = {"role": "assistant", "content": answer.text, "refusal": None, "annotations": []}
    if answer.calls:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": _dumped(arguments)}}
            for call_id, name, arguments in answer.calls
        ]
    return {
        "id": f"chatcmpl-{answer.name}",
        "object": "chat.completion",
        "created": CREATED,
        "model": answer.model,
        "system_fingerprint": "fp_fake01",
        "service_tier": "default",
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": "tool_calls" if answer.calls else "stop",
                "logprobs": None,
            }
        ],
        "usage": {
            "prompt_tokens": answer.input_tokens,
            "completion_tokens": answer.output_tokens,
            "total_tokens": answer.input_tokens + answer.output_tokens,
            "prompt_tokens_details": {"cached_tokens": answer.cached_tokens, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
    }


def chat_stream(whole: JSON, with_usage: bool) -> Iterator[bytes]:
    """The same as server-sent events: the text in two parts, each call in one."""
    choice = whole["choices"][0]
    common = {key: whole[key] for key in ("id", "created", "model", "system_fingerprint", "service_tier")}

    def event(delta: JSON, finish: str | None = None) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
        return _data({**common, "object": "chat.completion.chunk", "choices": choices})

    yield event({"role": "assistant", "content": ""})
    text = choice["message"]["content"] or ""
    for part in filter(None, (text[: len(text) // 2], text[len(text) // 2 :])):
        yield event({"content": part})
    for place, call in enumerate(choice["message"].get("tool_calls", ())):
        yield event({"tool_calls": [{"index": place, **call}]})
    yield event({}, choice["finish_reason"])
    if with_usage:
        yield _data({**common, "object": "chat.completion.chunk", "choices": [], "usage": whole["usage"]})
    yield b"data: [DONE]\n\n"


def responses(answer: Answer, instructions: str | None, namespaces: Mapping[str, str] = {}) -> JSON:
    """OpenAI's response; `namespaces` are those of the tools that have one."""
    output: list[JSON] = []
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        output.append(
            {
                "type": "message",
                "id": f"msg_{answer.name}",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
        )
    for call_id, name, arguments in answer.calls:
        space = {"namespace": namespaces[name]} if name in namespaces else {}
        output.append(
            {
                "type": "function_call",
                **space,
                "id": call_id.replace("call_", "fc_"),
                "call_id": call_id,
                "name": name,
                "arguments": _dumped(arguments),
                "status": "completed",
            }
        )
    return {
        "id": f"resp-{answer.name}",
        "object": "response",
        "created_at": CREATED,
        "status": "completed",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": instructions,
        "max_output_tokens": None,
        "model": answer.model,
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "service_tier": "default",
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "metadata": {},
        "usage": {
            "input_tokens": answer.input_tokens,
            "input_tokens_details": {"cached_tokens": answer.cached_tokens, "cache_write_tokens": 0},
            "output_tokens": answer.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": answer.input_tokens + answer.output_tokens,
        },
    }


def responses_stream(whole: JSON) -> Iterator[bytes]:
    """The same as server-sent events."""
    number = 0

    def event(kind: str, **said: Any) -> bytes:
        nonlocal number
        number += 1
        return _named(kind, {"type": kind, "sequence_number": number - 1, **said})

    yield event("response.created", response={**whole, "status": "in_progress", "output": [], "usage": None})
    for place, item in enumerate(whole["output"]):
        empty: JSON = {"content": []} if item["type"] == "message" else {"arguments": ""}
        yield event(
            "response.output_item.added", output_index=place, item={**item, **empty, "status": "in_progress"}
        )
        at = {"item_id": item["id"], "output_index": place}
        if item["type"] == "message":
            (part,) = item["content"]
            yield event("response.content_part.added", **at, content_index=0, part={**part, "text": ""})
            yield event("response.output_text.delta", **at, content_index=0, delta=part["text"], logprobs=[])
            yield event("response.output_text.done", **at, content_index=0, text=part["text"], logprobs=[])
            yield event("response.content_part.done", **at, content_index=0, part=part)
        else:
            yield event("response.function_call_arguments.delta", **at, delta=item["arguments"])
            yield event(
                "response.function_call_arguments.done",
                **at,
                name=item["name"],
                arguments=item["arguments"],
            )
        yield event("response.output_item.done", output_index=place, item=item)
    yield event("response.completed", response=whole)


def anthropic(answer: Answer) -> JSON:
    """Anthropic's message."""
    content: list[JSON] = [{"type": "text", "text": answer.text}] if answer.text else []
    content += [
        {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        for call_id, name, arguments in answer.calls
    ]
    return {
        "id": f"msg_{answer.name}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": "tool_use" if answer.calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": answer.input_tokens - answer.cached_tokens,
            "output_tokens": answer.output_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": answer.cached_tokens,
        },
    }


def anthropic_stream(whole: JSON) -> Iterator[bytes]:
    """The same as server-sent events."""
    start = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    yield _named("message_start", {"type": "message_start", "message": start})
    for place, block in enumerate(whole["content"]):
        is_text = block["type"] == "text"
        empty = {**block, "text": ""} if is_text else {**block, "input": {}}
        delta = (
            {"type": "text_delta", "text": block["text"]}
            if is_text
            else {"type": "input_json_delta", "partial_json": _dumped(block["input"])}
        )
        for kind, said in (
            ("content_block_start", {"content_block": empty}),
            ("content_block_delta", {"delta": delta}),
            ("content_block_stop", {}),
        ):
            yield _named(kind, {"type": kind, "index": place, **said})
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield _named("message_delta", {"type": "message_delta", "delta": stop, "usage": whole["usage"]})
    yield _named("message_stop", {"type": "message_stop"})


def gemini(answer: Answer) -> JSON:
    """Gemini's generated content."""
    parts: list[JSON] = [{"text": answer.text}] if answer.text else []
    parts += [
        {"functionCall": {"id": call_id, "name": name, "args": arguments}}
        for call_id, name, arguments in answer.calls
    ]
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": answer.input_tokens,
            "candidatesTokenCount": answer.output_tokens,
            "totalTokenCount": answer.input_tokens + answer.output_tokens,
            "cachedContentTokenCount": answer.cached_tokens,
        },
        "modelVersion": answer.model,
        "responseId": f"gem-{answer.name}",
    }


def gemini_stream(whole: JSON) -> Iterator[bytes]:
    """The same as the one server-sent event of a short answer."""
    yield _data(whole)


def ollama(answer: Answer) -> JSON:
    """Ollama's chat, which gives arguments as an object."""
    message: JSON = {"role": "assistant", "content": answer.text or ""}
    if answer.calls:
        message["tool_calls"] = [
            {"id": call_id, "function": {"index": place, "name": name, "arguments": arguments}}
            for place, (call_id, name, arguments) in enumerate(answer.calls)
        ]
    return {
        "model": answer.model,
        "created_at": "2025-10-09T08:53:20Z",
        "message": message,
        "done": True,
        "done_reason": "stop",
        "total_duration": 700_000_000,
        "load_duration": 20_000_000,
        "prompt_eval_count": answer.input_tokens,
        "prompt_eval_duration": 180_000_000,
        "eval_count": answer.output_tokens,
        "eval_duration": 500_000_000,
    }


def ollama_stream(whole: JSON) -> Iterator[bytes]:
    """The same as lines of JSON, the message before the counts."""
    common = {key: whole[key] for key in ("model", "created_at")}
    yield f"{_dumped({**common, 'message': whole['message'], 'done': False})}\n".encode()
    yield f"{_dumped({**whole, 'message': {'role': 'assistant', 'content': ''}})}\n".encode()


def refusal(api: str) -> JSON:
    """The body of a status 400: more context than the model can take."""
    message = "This model's maximum context length is 128000 tokens."
    if api == "anthropic":
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    if api == "ollama":
        return {"error": message}
    if api == "gemini":
        return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}
    return {
        "error": {
            "message": message,
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        }
    }


def _data(value: JSON) -> bytes:
    return f"data: {_dumped(value)}\n\n".encode()


def _named(kind: str, value: JSON) -> bytes:
    return f"event: {kind}\n".encode() + _data(value)
